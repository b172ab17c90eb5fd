#include "plugin/step.h"

#include <unistd.h>

#include "envtools/base/fd.h"
#include "envtools/base/variables.h"
#include "envtools/pin/pin.h"
#include "launcher/rendezvous/rendezvous.h"
#include "launcher/step/offer.h"
#include "tests/unit/support/child.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/host.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/steps.h"

namespace pinstep {
namespace {

using namespace std::string_literals;
using testing_support::Change;
using testing_support::changed;
using testing_support::ChildEnd;
using testing_support::FakeHost;
using testing_support::in_child;
using testing_support::task_environment;
using testing_support::TemporaryDirectory;
using testing_support::write_file;
using testing_support::write_prefix;

class Step : public testing::Test {
 protected:
  Step() {
    write_prefix(prefix_, "pinstep-activation 1 -\nset CONDA_PREFIX "s + prefix_ + "\0"s);
    write_file(scancel_, "#!/bin/sh\necho \"scancel $*\" >> " + (directory_ / "canceled") + "\n", 0755);
    pin_.token = "0123456789abcdef";
    pin_.prefixes = {{std::string(own_platform()), "-", prefix_}};
    state_.site.settings.scancel = scancel_;
    state_.site.settings.enoent_wait = std::chrono::milliseconds(0);
    host_.step = 3;
    host_.id = 12;
    become({});
  }

  // The task whose environment differs in this from rank 0's.
  void become(std::initializer_list<Change> changes) {
    host_.task = changed(task_environment(), changes);
    host_.task.set(variable::kPin, pin_.text());
  }

  // Makes this a step whose derived port nobody has, also where these tests run twice on one host.
  std::uint16_t become_step_with_free_port() {
    for (auto step = static_cast<std::uint32_t>(::getpid());; ++step) {
      const std::uint16_t port = derived_port({12, StepId::Kind::tasks, step}, 0);
      if (!hold_port(port)) continue;
      host_.step = step;
      return port;
    }
  }
  std::string step_name() const { return StepId::from(12, *host_.step).text(); }

  // The child prints what `check` makes of the task's environment; its standard error comes along.
  ChildEnd prepared(const std::function<std::string(const Environment&)>& check = {}) {
    return in_child([&] {
      ::dup2(STDOUT_FILENO, STDERR_FILENO);
      prepare_step_task(host_, state_);
      if (check) write_message(STDOUT_FILENO, check(host_.task));
      return 0;
    });
  }

  std::string canceled() {
    const auto file = read_file(directory_ / "canceled", 1000);
    return file ? file->text : "";
  }

  TemporaryDirectory directory_;
  const std::string prefix_ = directory_ / "env";
  const std::string scancel_ = directory_ / "scancel";
  Pin pin_;
  State state_;
  FakeHost host_{Context::step};
};

// ---- the port ---------------------------------------------------------------------------------------

TEST_F(Step, HoldsTheDerivedPortOnTheMasterNodeOnly) {
  const std::uint16_t port = become_step_with_free_port();
  host_.first_rank = false;
  hold_step_port(host_, state_);
  EXPECT_FALSE(state_.port);
  // A name that is there before the tasks is that of the node srun runs on.
  host_.first_rank = true;
  become({{"SLURMD_NODENAME", "n7"}});
  hold_step_port(host_, state_);
  ASSERT_TRUE(state_.port);
  EXPECT_EQ(state_.port->port, port);
  EXPECT_FALSE(state_.deferred_error);
}

TEST_F(Step, HoldsNoPortWhereItIsNotNeeded) {
  struct Case {
    const char* what;
    std::vector<Change> changes;
  };
  const Case cases[] = {
      {"the user has one", {{"MASTER_PORT", "29500"}}},
      {"the user has a wrong one", {{"MASTER_PORT", "x"}}},
      {"the site reserves some", {{"SLURM_STEP_RESV_PORTS", "12003"}}},
      {"srun offers one", {{"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=4711;entry=0;first="}}},
      {"nobody knows the master node", {{"SLURM_DISTRIBUTION", "arbitrary"}}},
  };
  for (const Case& c : cases) {
    become({});
    for (const Change& change : c.changes) host_.task.set(change.name, change.value);
    hold_step_port(host_, state_);
    EXPECT_FALSE(state_.port) << c.what;
    EXPECT_FALSE(state_.deferred_error) << c.what;
  }
  become({});
  host_.argv = {"orted"};
  hold_step_port(host_, state_);
  EXPECT_FALSE(state_.port) << "a launcher's daemon";
  host_.argv = {"python"};
  host_.step = 0xfffffffb;
  hold_step_port(host_, state_);
  EXPECT_FALSE(state_.port) << "batch step";
  host_.step = 3;
  state_.switched_off = true;
  hold_step_port(host_, state_);
  EXPECT_FALSE(state_.port) << "switched off";
}

TEST_F(Step, LetsOneComponentOfAHeterogeneousStepHoldThePort) {
  become({{"SLURM_HET_SIZE", "2"},
          {"SLURM_JOB_ID_HET_GROUP_0", "12"},
          {"SLURM_JOB_ID_HET_GROUP_1", "13"},
          {"SLURM_JOB_NODELIST_HET_GROUP_0", "n0"},
          {"SLURM_JOB_NODELIST_HET_GROUP_1", "n1"}});
  become_step_with_free_port();
  host_.id = 13;
  hold_step_port(host_, state_);
  EXPECT_FALSE(state_.port);
  host_.id = 12;
  hold_step_port(host_, state_);
  EXPECT_TRUE(state_.port);
}

TEST_F(Step, LetsTheTasksReportATakenPort) {
  const std::uint16_t port = become_step_with_free_port();
  const auto taken = hold_port(port);
  hold_step_port(host_, state_);
  EXPECT_FALSE(state_.port);
  ASSERT_TRUE(state_.deferred_error);
  const ChildEnd end = prepared();
  EXPECT_EQ(end.exit_code, 125);
  EXPECT_EQ(end.output,
            "pinstep: error: n0: port " + std::to_string(port) +
                " is taken by another program (run the step again, or set MASTER_PORT to a free port)\n");
  EXPECT_EQ(canceled(), "scancel --quiet --ctld --signal=KILL " + step_name() + "\n");
}

// ---- the task -----------------------------------------------------------------------------------

TEST_F(Step, GivesTheTaskItsEnvironment) {
  const ChildEnd end = prepared([&](const Environment& task) {
    return std::string(task.get("CONDA_PREFIX").value_or("")) + " rank " +
           std::string(task.get("RANK").value_or(""));
  });
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.output, prefix_ + " rank 0");
}

TEST_F(Step, EnforcesTheSitesPoliciesOverThePins) {
  pin_.policies.pythonpath = Policies::PythonPath::keep;
  become({{"PYTHONPATH", "/mine"}});
  const auto python_path = [](const Environment& task) {
    return std::string(task.get("PYTHONPATH").value_or("cleared"));
  };
  EXPECT_EQ(prepared(python_path).output, "/mine");
  state_.site.enforced = {{"pythonpath", "clear", true, ""}};
  EXPECT_EQ(prepared(python_path).output, "cleared");
}

TEST_F(Step, EntersTheJobWhereSrunRanOutsideOne) {
  become({{"VIRTUAL_ENV", "/v"}, {"SLURM_PINSTEP_OFFER", "1;node=login;addr=;port=0;entry=1;first="}});
  const auto leftover = [](const Environment& task) { return task.has("VIRTUAL_ENV") ? "kept" : "taken out"; };
  EXPECT_EQ(prepared(leftover).output, "taken out");
  become({{"VIRTUAL_ENV", "/v"}, {"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first="}});
  EXPECT_EQ(prepared(leftover).output, "kept");
  host_.step = 0xfffffffb;
  EXPECT_EQ(prepared(leftover).output, "taken out");
}

TEST_F(Step, HintsAtALoginShellsPathInTheBatchStep) {
  struct Case {
    const char* script;
    bool hint;
  };
  host_.step = 0xfffffffb;
  state_.site.settings.pinstep = "/opt/bin/pinstep";
  for (const Case& c :
       {Case{"#!/bin/bash -l\n", true}, Case{"#!/bin/bash --login\n", true}, Case{"#!/bin/bash -el\n", true},
        Case{"#!/usr/bin/env -S bash -l\n", true}, Case{"#!/bin/bash\n", false},
        Case{"#!/bin/bash -eu\n", false}, Case{"echo -l\n", false},
        Case{"#!/bin/bash -l\neval \"$(pinstep activate)\"\n", false}, Case{"", false}}) {
    write_file(directory_ / "script", c.script);
    host_.argv = {directory_ / "script"};
    EXPECT_EQ(prepared().output,
              c.hint ? "pinstep: warning: this script runs in a login shell, which may reset PATH for the "
                       "script itself, "
                       "not for its steps; put this line into it: eval \"$(/opt/bin/pinstep activate)\"\n"
                     : "")
        << c.script;
  }
}

TEST_F(Step, DoesNothingWhenSwitchedOff) {
  state_.switched_off = true;
  const Environment before = host_.task;
  EXPECT_EQ(prepared([&](const Environment& task) { return task == before ? "same" : "changed"; }).output,
            "same");
}

// ---- failing: one line for a step's error, at most one for each node of a node's -------------------

TEST_F(Step, EndsEveryTaskOnAStepErrorAndLetsRankZeroSpeak) {
  for (const char* rank : {"0", "1"}) {
    become({{"SLURM_PROCID", rank}, {"SLURM_LOCALID", rank}, {"WORLD_SIZE", "8"}});
    const ChildEnd end = prepared();
    EXPECT_EQ(end.exit_code, 125) << rank;
    EXPECT_EQ(end.output,
              *rank == '0' ? "pinstep: error: WORLD_SIZE=8 is set in the environment, and in step 12.3 it is "
                             "4 (unset WORLD_SIZE)\n"
                           : "")
        << rank;
  }
  EXPECT_EQ(canceled(), "");
}

TEST_F(Step, RefusesAPinThatCannotBeRead) {
  host_.task.set(variable::kPin, "2;kind=store");
  const ChildEnd end = prepared();
  EXPECT_EQ(end.exit_code, 125);
  EXPECT_EQ(
      end.output,
      "pinstep: error: the job was submitted by a newer pinstep (pin schema 2, this one reads 1) (ask for the "
      "node's pinstep to be updated)\n");
}

TEST_F(Step, NamesTheNodeOfANodesErrorAndEndsTheStep) {
  pin_.prefixes[0].prefix = directory_ / "absent";
  become({{"SLURMD_NODENAME", "n1"}, {"SLURM_NODEID", "1"}, {"SLURM_PROCID", "2"}, {"SLURM_GTIDS", "2,3"}});
  EXPECT_EQ(prepared().output,
            "pinstep: error: n1: cannot open '" + (directory_ / "absent") +
                "/conda-meta/pinstep/activation': No such file or directory (does this node see "
                "the file system it is on, and is it still there?)\n");
  EXPECT_EQ(canceled(), "scancel --quiet --ctld --signal=KILL 12.3\n");
  become({{"SLURMD_NODENAME", "n1"}, {"SLURM_LOCALID", "1"}, {"SLURM_PROCID", "3"}, {"SLURM_GTIDS", "2,3"}});
  const ChildEnd neighbour = prepared();
  EXPECT_EQ(neighbour.exit_code, 125);
  EXPECT_EQ(neighbour.output, "");
}

TEST_F(Step, CancelsEveryComponentOfAHeterogeneousStep) {
  pin_.prefixes[0].prefix = directory_ / "absent";
  become({{"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_ID_HET_GROUP_0", "12"}, {"SLURM_JOB_ID_HET_GROUP_1", "13"}});
  prepared();
  EXPECT_EQ(canceled(), "scancel --quiet --ctld --signal=KILL 12.3 13.3\n");
  // As an srun outside of a job calls them; and one that calls them by no name we know.
  become({{"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_ID_PACK_GROUP_0", "12"}, {"SLURM_JOB_ID_PACK_GROUP_1", "13"}});
  prepared();
  become({{"SLURM_HET_SIZE", "2"}});
  prepared();
  EXPECT_EQ(canceled(),
            "scancel --quiet --ctld --signal=KILL 12.3 13.3\n"
            "scancel --quiet --ctld --signal=KILL 12.3 13.3\n"
            "scancel --quiet --ctld --signal=KILL 12.3\n");
}

TEST_F(Step, EndsTheTaskWhereSlurmRefusesAVariable) {
  host_.refuses = true;
  const ChildEnd end = prepared();
  EXPECT_THAT(end.output, testing::StartsWith("pinstep: error: n0: the host refuses '"));
  EXPECT_EQ(canceled(), "scancel --quiet --ctld --signal=KILL 12.3\n");
}

TEST_F(Step, EndsWith125WhereScancelCannotRun) {
  pin_.prefixes[0].prefix = directory_ / "absent";
  become({});
  state_.site.settings.scancel = directory_ / "no-scancel";
  EXPECT_EQ(prepared().exit_code, 125);
}

TEST_F(Step, OpensWithWhatIsWrongInTheSitesSettings) {
  state_.arguments = {"adress=%h", "task_timeout=7"};
  open_step(host_, state_);
  EXPECT_EQ(state_.site.settings.task_timeout, std::chrono::seconds(7));
  EXPECT_THAT(
      host_.logged,
      testing::ElementsAre("pinstep: plugstack.conf: there is no setting 'adress' (did you mean 'address'?)"));
}

}  // namespace
}  // namespace pinstep
