// The command line of pinstep-worker train.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/worker/data/images.h"
#include "launcher/worker/train/keeper.h"
#include "launcher/worker/train/session.h"
#include "launcher/worker/train/trainer.h"

namespace pinstep::worker {

struct TrainOptions {
  std::string data = kDefaultData;  // or "synthetic"
  std::string order;                // a file; empty: the seed decides
  std::string log;                  // empty: none is written
  std::string save;                 // empty: nothing is saved
  std::uint32_t images = 0;         // 0: all
  std::uint32_t test_images = 0;
  bool json = false;
  bool requeue = false;
  KeepSettings keep;
  TrainSettings train;
  SessionSettings session;
};

extern const char* const kTrainUsage;

// The words after the verb. Errors: usage.
Result<TrainOptions> parse_train_options(const std::vector<std::string>& words);

}  // namespace pinstep::worker
