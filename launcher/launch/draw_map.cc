#include "launcher/launch/draw_map.h"

#include <fcntl.h>

#include "envtools/base/fd.h"
#include "launcher/launch/map_program.h"

namespace pinstep {
namespace {

constexpr std::string_view kNodeName = "%N";

std::string file_for(std::string file, std::string_view node) {
  for (std::size_t at = 0; (at = file.find(kNodeName, at)) != std::string::npos; at += node.size())
    file.replace(at, kNodeName.size(), node);
  return file;
}

}  // namespace

bool has_picture_each(const LaunchOptions& options) {
  return options.picture.find(kNodeName) != std::string::npos;
}

Result<void> draw_map(const LaunchOptions& options, const NodeMap& map, const std::optional<Bits>& cpus,
                      std::string_view node, const Environment& environment) {
  const std::string described = options.topology.substr(options.topology.rfind('/') + 1);
  std::vector<std::string> arguments{"--draw=" + (described.empty() ? std::string(node) : described)};
  if (!options.topology.empty()) arguments.push_back("--topology=" + options.topology);
  if (!options.nccl_topology.empty()) arguments.push_back("--nccl-topology=" + options.nccl_topology);
  const std::string users_nccl(environment.get("NCCL_TOPO_FILE").value_or(""));
  if (options.nccl_topology.empty() && options.topology.empty() && !users_nccl.empty())
    arguments.push_back("--users-nccl-topology=" + users_nccl);
  if (cpus) arguments.push_back("--cpus=" + cpus->text());
  const auto picture = run_map_program(std::move(arguments), environment, write_map(map));
  if (!picture) return tl::unexpected(picture.error());
  const std::string file = file_for(options.picture, node);
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid() || !write_all(fd.get(), *picture)) return fail_errno(errno, "write", file);
  return {};
}

}  // namespace pinstep
