#include "launcher/launch/verify.h"

#include <cstdio>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "pinstep_config.h"

namespace pinstep {

std::string map_hash(NodeMap map) {
  for (MappedGpu& gpu : map.gpus) gpu.uuid.clear();
  char text[16];
  std::snprintf(text, sizeof text, "%08x", fnv1a(write_map(map)));
  return text;
}

std::vector<std::string> verify_command(const std::vector<std::string>& program,
                                        const std::optional<NodeMap>& map, std::uint32_t local_rank) {
  std::vector<std::string> command{private_file("pinstep-verify", PINSTEP_LIBEXECDIR)};
  if (map) {
    std::string nics;
    for (const MappedNic& nic : map->nics) nics += (nics.empty() ? "" : ",") + nic.name;
    command.push_back("--map=" + map_hash(*map));
    command.push_back("--gpus=" + std::to_string(map->gpus.size()));
    command.push_back("--nics=" + (nics.empty() ? "-" : nics));
    for (const std::uint32_t gpu : map->ranks[local_rank].gpus)
      if (!map->gpus[gpu].uuid.empty()) command.push_back("--uuid=" + map->gpus[gpu].uuid);
  }
  command.insert(command.end(), program.begin() + 1, program.end());
  return command;
}

}  // namespace pinstep
