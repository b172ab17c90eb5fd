// The Host that is Slurm. This header and its source are, with hooks.cc, the only ones to include spank.h.
#pragma once

#include <cstdint>

extern "C" {
#include <slurm/spank.h>
}

#include "plugin/host.h"

namespace pinstep {

class SlurmHost final : public Host {
 public:
  explicit SlurmHost(spank_t handle) : handle_(handle) {}

  Context context() const override;
  Result<void> set_for_job(std::string_view name, std::string_view value) override;
  void unset_for_job(std::string_view name) override;
  bool step_has_pin() const noexcept override;
  Environment step_environment() const override;
  Result<void> set_in_task(std::string_view name, std::string_view value) override;
  Result<void> unset_in_task(std::string_view name) override;
  std::vector<std::string> step_argv() const override;
  std::optional<std::uint32_t> step_number() const override;
  std::optional<std::uint32_t> job_id() const override;
  bool has_first_rank() const override;
  void log(std::string_view line) const override;

 private:
  spank_t handle_;
};

}  // namespace pinstep
