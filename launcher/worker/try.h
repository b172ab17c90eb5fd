// A sequence of steps of which each may fail: ends the function at the first error.
#pragma once

#include "envtools/base/error.h"

#define PINSTEP_TRY(expression) \
  if (auto tried = (expression); !tried) return tl::unexpected(std::move(tried.error()))
