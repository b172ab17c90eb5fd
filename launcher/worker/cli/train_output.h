// What rank 0 prints while it trains.
#pragma once

#include <string>

#include "launcher/worker/cli/output.h"
#include "launcher/worker/train/keeper.h"
#include "launcher/worker/train/trainer.h"

namespace pinstep::worker {

struct Start {
  std::uint32_t ranks = 1;
  std::string transport;
  std::string device;
  unsigned threads = 0;  // 0: what the library chooses
  std::string model;
  std::string layers;  // describe()
  std::string optimizer;
  std::uint32_t shards = 0;  // virtual ones
  std::size_t parameters = 0;
  std::size_t buckets = 0;
  std::uint32_t images = 0;
  std::uint64_t restart = 0;  // how often Slurm has queued the job again
};

std::string line_of(const Start& start, Form form);
Json json_of(const EpochReport& epoch);
std::string line_of(const EpochReport& epoch, Form form);
// On a terminal, where the next line takes its place.
std::string progress_of(std::uint32_t epoch, const StepReport& step, double samples_per_second);
Json json_of(const Resumed& resumed);
Json json_of(const Kept& kept);
std::string line_of(const Resumed& resumed, Form form);
std::string line_of(const Kept& kept, Form form);
// At the end: the digest of all ranks' weights, and where they are if they were saved.
std::string line_of_end(const std::string& weights, const std::string& saved, Form form);

}  // namespace pinstep::worker
