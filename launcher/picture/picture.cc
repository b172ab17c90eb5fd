#include "launcher/picture/picture.h"

#include <algorithm>
#include <array>
#include <map>

#include "envtools/base/text.h"
#include "launcher/mapfile/show_map.h"
#include "launcher/picture/box.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 8> kColours{"#77AADD", "#EE8866", "#EEDD88", "#FFAABB",
                                                   "#99DDFF", "#44BB99", "#BBCC33", "#AAAA00"};
constexpr std::string_view kWhite = "#FFFFFF";
constexpr std::string_view kGrey = "#DDDDDD";
constexpr std::string_view kLine = "#444444";
constexpr std::string_view kFaintLine = "#999999";

constexpr double kCoreWidth = 30;
constexpr double kCoreHeight = 20;
constexpr double kNodeWidth = 12 * (kCoreWidth + 3);
constexpr double kPictureWidth = 1260;
constexpr double kMargin = 20;
constexpr double kTitleSize = 18;
constexpr std::size_t kMostLegend = 140;  // characters of a line

using Ranks = std::vector<std::uint32_t>;

std::string colour(std::uint32_t rank) { return std::string(kColours[rank % kColours.size()]); }

std::vector<std::string> colours(const Ranks& ranks) {
  std::vector<std::string> fills;
  for (const std::uint32_t rank : ranks) fills.push_back(colour(rank));
  return fills;
}

// "rank 0", "ranks 0, 4"
std::string named(const Ranks& ranks) {
  std::string text;
  for (const std::uint32_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

Box core_box(std::string label, std::string_view fill) {
  Box box;
  if (!label.empty()) box.lines.push_back({std::move(label)});
  box.fills.emplace_back(fill);
  box.stroke = kLine;
  box.is_centred = true;
  box.least_width = kCoreWidth;
  box.least_height = kCoreHeight;
  return box;
}

Box device_box(std::vector<Text> lines, const Ranks& ranks, bool is_used) {
  Box box;
  box.lines = std::move(lines);
  box.fills = ranks.empty() ? std::vector{std::string(kWhite)} : colours(ranks);
  box.stroke = is_used ? kLine : kFaintLine;
  box.is_dashed = !is_used;
  box.padding = 5;
  return box;
}

Box group(std::string label, double wrap) {
  Box box;
  if (!label.empty()) box.lines.push_back({std::move(label)});
  box.gap = 6;
  box.wrap = wrap;
  return box;
}

Box framed(std::string label, double wrap, std::string_view fill) {
  Box box = group(std::move(label), wrap);
  box.fills.emplace_back(fill);
  box.stroke = kFaintLine;
  box.padding = 8;
  return box;
}

// Something at the end of a PCI bus.
struct Device {
  const Locality* at;
  PciAddress address;
  Box box;
};
using Devices = std::vector<Device>;

bool is_one_card(const Devices& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
    const PciAddress &a = device.address, &b = devices.front().address;
    return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
  });
}

// Devices that have the first `depth` bridges in common: a box around those that have more.
Box bus_box(Devices devices, std::size_t depth) {
  if (devices.size() == 1) return std::move(devices.front().box);
  const auto bridge = [&](const Device& device) {
    return device.at->bridges.size() > depth ? std::optional(device.at->bridges[depth]) : std::nullopt;
  };
  while (bridge(devices.front()) && std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
           return bridge(device) == bridge(devices.front());
         }))
    ++depth;
  std::string label = depth == 1 ? "host bridge" : is_one_card(devices) ? "card" : "PCIe switch";
  Box box = depth == 0 ? group("", kNodeWidth) : framed(std::move(label), kNodeWidth, "#EEF3F8");
  while (!devices.empty()) {
    const auto branch = bridge(devices.front());
    const auto rest = std::stable_partition(devices.begin(), devices.end(), [&](const Device& device) {
      return branch && bridge(device) == branch;
    });
    const auto end = branch ? rest : devices.begin() + 1;
    box.inside.push_back(
        bus_box({std::make_move_iterator(devices.begin()), std::make_move_iterator(end)}, depth + 1));
    devices.erase(devices.begin(), end);
  }
  return box;
}

class Picture {
 public:
  Picture(const Machine& machine, const NodeMap& map) : machine_(machine), map_(map) {
    for (std::uint32_t rank = 0; rank < map.ranks.size(); ++rank)
      for (const std::uint32_t gpu : map.ranks[rank].gpus) {
        const MappedGpu& mapped = map.gpus[gpu];
        ranks_of_gpu_[mapped.address].push_back(rank);
        Ranks& at_card = ranks_of_nic_[mapped.nic];
        if (at_card.empty() || at_card.back() != rank) at_card.push_back(rank);
      }
  }

  Box node() {
    add_devices();
    Box all = group("", kPictureWidth);
    all.gap = 12;
    std::map<std::uint32_t, Box> packages;
    for (std::size_t first = 0; first < machine_.cores.size();) {
      std::size_t end = first;
      const Core& core = machine_.cores[first];
      while (end < machine_.cores.size() && machine_.cores[end].node == core.node &&
             machine_.cores[end].package == core.package)
        ++end;
      package(packages, core.package).inside.push_back(memory_node(core.node, first, end));
      first = end;
    }
    // Memory nodes without cores of their own, and what is near several.
    for (auto& [node, devices] : at_node_) {
      const auto above = devices.front().at->packages.only();
      Box box = framed("memory node " + std::to_string(node) + ", no cores", 0, kWhite);
      box.inside.push_back(bus_box(std::move(devices), 0));
      (above ? package(packages, *above) : all).inside.push_back(std::move(box));
    }
    for (auto& [number, devices] : at_package_)
      package(packages, number).inside.push_back(elsewhere("near all of it", std::move(devices)));
    for (auto& [number, box] : packages) all.inside.push_back(std::move(box));
    if (!anywhere_.empty())
      all.inside.push_back(elsewhere("near no package in particular", std::move(anywhere_)));
    return all;
  }

  Box legend() const {
    Box box = group("", 0);
    box.gap = 4;
    for (std::uint32_t rank = 0; rank < map_.ranks.size(); ++rank) {
      const MappedRank& mapped = map_.ranks[rank];
      std::string text = "rank " + std::to_string(rank) + ": ";
      text += mapped.pus.empty() ? "not bound" : "cpus " + mapped.pus.text();
      if (text.size() > kMostLegend) text = text.substr(0, kMostLegend) + "...";
      if (mapped.memory_node) text += ", memory node " + std::to_string(*mapped.memory_node);
      box.inside.push_back(entry(core_box(std::to_string(rank), colour(rank)), text));
    }
    box.inside.push_back(entry(core_box("", kWhite), "a core that no rank has"));
    box.inside.push_back(entry(core_box("-", kGrey), "a core that the step may not use"));
    Box dashed = core_box("", kWhite);
    dashed.is_dashed = true;
    dashed.stroke = kFaintLine;
    box.inside.push_back(entry(std::move(dashed), "a device that the step does not use"));
    return box;
  }

 private:
  static Box entry(Box sign, const std::string& text) {
    Box row = group("", 1e6);
    Box label;
    label.lines.push_back({text});
    label.padding = (kCoreHeight - kLineHeight) / 2;
    row.inside = {std::move(sign), std::move(label)};
    return row;
  }

  static Box& package(std::map<std::uint32_t, Box>& packages, std::uint32_t number) {
    const auto found = packages.find(number);
    if (found != packages.end()) return found->second;
    return packages.emplace(number, framed("package " + std::to_string(number), kPictureWidth - 16, "#F4F4F4"))
        .first->second;
  }

  static Box elsewhere(std::string label, Devices devices) {
    Box box = framed(std::move(label), 0, kWhite);
    box.inside.push_back(bus_box(std::move(devices), 0));
    return box;
  }

  Box memory_node(std::uint32_t node, std::size_t first, std::size_t end) {
    Box box = framed("memory node " + std::to_string(node), 0, kWhite);
    Box cores = group("", kNodeWidth);
    cores.gap = 3;
    for (std::size_t i = first; i < end; ++i) cores.inside.push_back(core(machine_.cores[i]));
    box.inside.push_back(std::move(cores));
    if (const auto devices = at_node_.find(node); devices != at_node_.end()) {
      box.inside.push_back(bus_box(std::move(devices->second), 0));
      at_node_.erase(devices);
    }
    return box;
  }

  Box core(const Core& core) const {
    const std::string cpus = (core.pus.count() == 1 ? "cpu " : "cpus ") + core.pus.text();
    for (std::uint32_t rank = 0; rank < map_.ranks.size(); ++rank)
      if (map_.ranks[rank].pus.meets(core.pus)) {
        Box box = core_box(std::to_string(rank), colour(rank));
        box.tip = cpus + ", rank " + std::to_string(rank);
        return box;
      }
    Box box = core.pus.meets(machine_.allowed) ? core_box("", kWhite) : core_box("-", kGrey);
    box.tip = cpus;
    return box;
  }

  void add_devices() {
    for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
      const Gpu& gpu = machine_.gpus[i];
      place({&gpu.at, gpu.address, gpu_box(gpu, i)}, gpu.home());
    }
    for (const Nic& nic : machine_.nics)
      if (is_in_use(nic) || (!nic.name.empty() && !nic.is_virtual_function && nic.is_on_bus))
        place({&nic.at, nic.address, nic_box(nic)}, nic.at.nodes);
  }

  // In a virtual machine these are virtual functions, too.
  bool is_in_use(const Nic& nic) const {
    return std::any_of(map_.nics.begin(), map_.nics.end(),
                       [&](const MappedNic& mapped) { return mapped.name == nic.name; });
  }

  void place(Device device, const Bits& nodes) {
    if (const auto node = nodes.only())
      at_node_[*node].push_back(std::move(device));
    else if (const auto number = device.at->packages.only())
      at_package_[*number].push_back(std::move(device));
    else
      anywhere_.push_back(std::move(device));
  }

  Box gpu_box(const Gpu& gpu, std::size_t index) const {
    const auto mapped = std::find_if(map_.gpus.begin(), map_.gpus.end(),
                                     [&](const MappedGpu& other) { return other.address == gpu.address; });
    std::vector<Text> lines{{"GPU " + std::to_string(index), true}, {gpu.address.text()}};
    const auto ranks = ranks_of_gpu_.find(gpu.address);
    if (mapped == map_.gpus.end() || ranks == ranks_of_gpu_.end()) {
      lines.push_back({mapped == map_.gpus.end() ? "not the step's" : "no rank"});
      return device_box(std::move(lines), {}, false);
    }
    lines.front().content += ", " + named(ranks->second);
    if (!mapped->nic.empty())
      lines.push_back({"to " + mapped->nic + ", " + std::string(to_string(mapped->level))});
    return device_box(std::move(lines), ranks->second, true);
  }

  Box nic_box(const Nic& nic) const {
    // Without a name of its own a card goes by its address.
    std::vector<Text> lines{{"NIC " + nic.name, true}, {nic.address.text()}};
    if (nic.name == nic.address.text()) lines.pop_back();
    const auto ranks = ranks_of_nic_.find(nic.name);
    if (ranks != ranks_of_nic_.end()) {
      lines.push_back({std::string(to_string(nic.network)) + ", " + named(ranks->second)});
      return device_box(std::move(lines), ranks->second, true);
    }
    const auto dropped = std::find_if(map_.dropped.begin(), map_.dropped.end(),
                                      [&](const DroppedNic& other) { return other.name == nic.name; });
    lines.push_back(
        {dropped == map_.dropped.end() ? std::string(to_string(nic.network)) + ", no rank" : dropped->reason});
    return device_box(std::move(lines), {}, false);
  }

  const Machine& machine_;
  const NodeMap& map_;
  std::map<PciAddress, Ranks> ranks_of_gpu_;
  std::map<std::string, Ranks> ranks_of_nic_;
  std::map<std::uint32_t, Devices> at_node_;
  std::map<std::uint32_t, Devices> at_package_;
  Devices anywhere_;
};

std::string heading(std::string_view text, double y, double size, bool is_bold) {
  return "<text x=\"" + show_length(kMargin) + "\" y=\"" + show_length(y) + "\" font-size=\"" +
         show_length(size) + "\"" + (is_bold ? " font-weight=\"bold\"" : "") + ">" + escape_xml(text) +
         "</text>\n";
}

}  // namespace

std::string draw_node(const Machine& machine, const NodeMap& map, std::string_view title) {
  Picture picture(machine, map);
  Box node = picture.node();
  lay_out(node);
  Box legend = picture.legend();
  lay_out(legend);
  const std::string name = std::string(title) + ", " + std::to_string(map.ranks.size()) +
                           (map.ranks.size() == 1 ? " rank" : " ranks");
  std::string objective = show_objective(map);
  for (std::size_t at = 0; (at = objective.find("  ", at)) != std::string::npos;)
    objective.replace(at, 2, ", ");
  constexpr double top = kMargin + 52;
  const double width = 2 * kMargin + std::max({node.width, legend.width, text_width(name, kTitleSize) * 1.12,
                                               text_width(objective)});
  const double height = top + node.height + kMargin + legend.height + kMargin;
  const std::string size = show_length(width) + "\" height=\"" + show_length(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 " +
         show_length(width) + " " + show_length(height) +
         "\" role=\"img\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" " + "font-size=\"" +
         show_length(kFontSize) + "\">\n<title>" + escape_xml(name) + "</title>\n<desc>" +
         escape_xml(objective) + "</desc>\n<rect width=\"" + size + "\" fill=\"" + std::string(kWhite) +
         "\"/>\n" + heading(name, kMargin + kTitleSize, kTitleSize, true) +
         heading(objective, kMargin + 40, kFontSize, false) + draw(node, kMargin, top) +
         draw(legend, kMargin, top + node.height + kMargin) + "</svg>\n";
}

}  // namespace pinstep
