// pinstep list: the environments of the stores.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "envtools/base/text.h"
#include "envtools/build/artifacts.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/json/json.h"

namespace pinstep::cli {
namespace {

// clang-format off
constexpr std::string_view kListUsage =
    R"(usage: pinstep list [--store=DIR] [--json]

Lists the environments that are built: id, time, packages, size, name and prefix. Files
that environments share are counted in each.

  --store=DIR     list this store
  --json          print a list of objects

Exit status: 0 listed, 1 a store cannot be read, 2 wrong usage.
)";
// clang-format on

std::string format_time(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[32];
  if (seconds == 0 || ::localtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) == 0)
    return "-";
  return text;
}

std::string shown_name(const Published& one) { return one.name.empty() ? "-" : printable(one.name); }

// Characters, not bytes: what columns are made of.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void print_text(const std::vector<Published>& all) {
  std::size_t widest = std::string_view("NAME").size();
  for (const Published& one : all) widest = std::max(widest, width(shown_name(one)));
  const auto padded = [&](const std::string& name) { return name + std::string(widest - width(name), ' '); };
  std::printf("%-16s  %-16s  %8s  %7s  %s  %s\n", "ID", "BUILT", "PACKAGES", "SIZE", padded("NAME").c_str(),
              "PREFIX");
  for (const Published& one : all)
    std::printf("%-16s  %-16s  %8llu  %7s  %s  %s\n", short_id(one.id).c_str(), format_time(one.built).c_str(),
                static_cast<unsigned long long>(one.packages), format_size(one.bytes).c_str(),
                padded(shown_name(one)).c_str(), printable(one.prefix).c_str());
}

void print_json(const std::vector<Published>& all) {
  Json list = Json::array();
  for (const Published& one : all) {
    Json json;
    json["id"] = one.id;
    json["name"] = one.name;
    json["prefix"] = one.prefix;
    json["lock"] = one.lock;
    json["packages"] = one.packages;
    json["bytes"] = one.bytes;
    json["built"] = one.built;
    list.push_back(std::move(json));
  }
  std::printf("%s\n", dump_json(list).c_str());
}

int run_list(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"store", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (!parsed->operands.empty())
    return report({ErrorKind::usage, "list takes no argument", "pinstep list --help"}, json);
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  const auto all = list_published(place->stores, place->trust);
  if (!all) return report(all.error(), json);
  if (json)
    print_json(*all);
  else
    print_text(*all);
  return kOk;
}

}  // namespace

const Verb kList{"list", "list the environments that are built", kListUsage, run_list};

}  // namespace pinstep::cli
