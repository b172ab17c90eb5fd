#include "plugin/batch_script.h"

#include <gtest/gtest.h>

namespace pinstep {
namespace {

TEST(StartsLoginShell, ReadsTheInterpreterLine) {
  for (const char* script : {"#!/bin/bash -l\n", "#!/bin/bash --login\ntrue\n", "#! /bin/sh -el\n",
                             "#!/bin/bash  -l", "#!/usr/bin/env -S bash -l\n", "#!/usr/local/bin/zsh -l\n"})
    EXPECT_TRUE(starts_login_shell(script)) << script;
  for (const char* script : {"#!/bin/bash\n", "#!/bin/bash -e\n", "#!/bin/bash --norc\n",
                             "#!/usr/bin/perl -wl\n", "#!/usr/bin/env bash\n", "#!/usr/bin/python3 -l bash\n",
                             "#!\n", "#!", "", "bash -l\n", "#!/bin/bash\n-l\n"})
    EXPECT_FALSE(starts_login_shell(script)) << script;
}

}  // namespace
}  // namespace pinstep
