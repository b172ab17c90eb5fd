// Slurm as the plugin sees it, for what the real one will not do on demand. It keeps what it was told.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugin/host.h"

namespace pinstep::testing_support {

class FakeHost final : public Host {
 public:
  explicit FakeHost(Context context) : context_(context) {}

  Context context() const override { return context_; }

  Result<void> set_for_job(std::string_view name, std::string_view value) override {
    if (refuses) return fail(ErrorKind::os, "the host refuses '" + std::string(name) + "'");
    job.set(name, value);
    return {};
  }
  void unset_for_job(std::string_view name) override { job.unset(name); }

  bool step_has_pin() const noexcept override { return true; }
  Environment step_environment() const override { return task; }
  Result<void> set_in_task(std::string_view name, std::string_view value) override {
    if (refuses) return fail(ErrorKind::os, "the host refuses '" + std::string(name) + "'");
    task.set(name, value);
    return {};
  }
  Result<void> unset_in_task(std::string_view name) override {
    task.unset(name);
    return {};
  }
  std::vector<std::string> step_argv() const override { return argv; }
  std::optional<std::uint32_t> step_number() const override { return step; }
  std::optional<std::uint32_t> job_id() const override { return id; }
  bool has_first_rank() const override { return first_rank; }
  void log(std::string_view line) const override { logged.emplace_back(line); }

  bool refuses = false;  // the next settings of variables
  Environment job;       // set by set_for_job, without Slurm's SLURM_SPANK_
  Environment task;
  std::vector<std::string> argv{"python", "train.py"};
  std::optional<std::uint32_t> step;
  std::optional<std::uint32_t> id;
  bool first_rank = true;
  mutable std::vector<std::string> logged;

 private:
  Context context_;
};

}  // namespace pinstep::testing_support
