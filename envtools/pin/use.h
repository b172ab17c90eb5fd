// Who uses an environment of a store: empty files in <store>/u/ whose names say all and whose times say when.
// They are what keeps an environment from `pinstep gc`; nothing else reads them.
//
//   <id16>.submit.<token>                 a job was submitted with it; the token is the pin's
//   <id16>.job.<token>.<job>.<cluster>    a step of that job ran; of an array, the array's job id
//   <id16>.run.<uid>                      by hand, `pinstep run`
//
// A job's record takes the place of the lease with its token: from then on Slurm knows whether the job is still
// to run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "envtools/base/environment.h"
#include "envtools/pin/pin.h"

namespace pinstep {

struct Use {
  enum class Kind { submit, job, run };

  std::string id16;  // first 16 digits of the environment's id
  Kind kind = Kind::submit;
  std::string token{};    // of submit and job
  std::uint32_t job = 0;  // of job
  std::string cluster{};  // of job; may be empty where Slurm told none
  uid_t user = 0;         // of run

  bool operator==(const Use&) const = default;
};

// Round trip: parse_use(file_name(use)) == use. Nothing for what is no use's name.
std::string file_name(const Use& use);
std::optional<Use> parse_use(std::string_view name);

// <store>/u
std::string use_directory(std::string_view store);

// Makes the file, or gives it the present time. What cannot be written is no error: a store may be read-only.
// Follows no symbolic link below the store, and writes nothing into a file.
void note_use(const std::string& store, const Use& use);

// The lease of a submitted pin, and the record of a running job with that pin, whose environment has
// SLURM_JOB_ID, SLURM_ARRAY_JOB_ID and SLURM_CLUSTER_NAME. Of a pin of a store only; of each platform's prefix.
void note_submission(const Pin& pin);
void note_job(const Pin& pin, const Environment& environment);

}  // namespace pinstep
