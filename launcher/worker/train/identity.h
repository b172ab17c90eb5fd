// The settings that decide a run's weights, as words to compare.
//
// Ranks compare all of them before the first step. A checkpoint has them too, and there they are of two kinds.
// With another of the *fixed* ones it belongs to another run: its arrays would not fit, samples would be lost
// or doubled, or virtual shards would not keep their promise. The *free* ones may be changed on purpose, by
// someone who goes on with fewer ranks, say; it is told, as the weights are then not those of a run that never
// stopped. What is in neither (epochs, steps, loaders, ranks) decides when a run ends and how fast it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/worker/checkpoint/checkpoint.h"
#include "launcher/worker/data/images.h"
#include "launcher/worker/model/plan.h"
#include "launcher/worker/train/settings.h"

namespace pinstep::worker {

struct Identity {
  std::map<std::string, std::string> fixed;
  std::map<std::string, std::string> free;  // named as the options are
};

Identity identity_of(const TrainSettings& settings, const std::vector<LayerPlan>& layers, const DataSet& data);

// Errors: conflict (a fixed setting is another).
Result<void> check_same_run(const Identity& mine, const Checkpoint& checkpoint);

// "batch 32 instead of 64", for each free setting that is not what it was.
std::vector<std::string> changes(const Identity& mine, const Checkpoint& checkpoint);

}  // namespace pinstep::worker
