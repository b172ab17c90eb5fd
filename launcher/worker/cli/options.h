// The command line of pinstep-worker.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/worker/data/images.h"
#include "launcher/worker/train/session.h"
#include "launcher/worker/train/trainer.h"

namespace pinstep::worker {

struct WorkerOptions {
  enum class Action { train, help, version };

  Action action = Action::train;
  std::string data = kDefaultData;
  std::string save;          // empty: nothing is saved
  std::uint32_t images = 0;  // 0: all
  std::uint32_t test_images = 0;
  bool json = false;
  TrainSettings train;
  SessionSettings session;
};

extern const char* const kWorkerUsage;

// Errors: usage.
Result<WorkerOptions> parse_worker_options(const std::vector<std::string>& arguments);

}  // namespace pinstep::worker
