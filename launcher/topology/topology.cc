#include "launcher/topology/topology.h"

#include "envtools/base/fd.h"
#include "launcher/topology/hwloc_topology.h"
#include "launcher/topology/nccl_topology.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::string_view kSynthetic = "synthetic:";

}  // namespace

Result<Machine> read_machine(const std::string& source) {
  if (source.empty()) return read_this_node();
  if (source.starts_with(kSynthetic)) return parse_synthetic(source.substr(kSynthetic.size()));
  const auto content = read_file(source, kMostBytes, Links::followed);
  if (!content) return tl::unexpected(content.error());
  if (!is_nccl_topology(content->text)) return parse_hwloc_xml(content->text, source);
  auto told = parse_nccl_topology(content->text, source);
  if (!told) return tl::unexpected(told.error());
  return std::move(told->machine);
}

}  // namespace pinstep
