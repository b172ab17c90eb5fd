// pinstep tag and untag: names for environments, which also keep them from pinstep gc.
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/json/json.h"

namespace pinstep::cli {
namespace {

// clang-format off
constexpr std::string_view kTagUsage =
    R"(usage: pinstep tag [--store=DIR] [--json] TAG [ENV]

Gives an environment that is built a name, which finds it wherever ENV stands, and pinstep gc
leaves it alone. A tag that is there is moved.

  TAG             a lower-case letter, then letters, digits, '.', '_' and '-'
  ENV             an environment file, a lock, the directory of a prefix, a tag, or 4 or
                  more digits of an id; without it environment.yml in this directory or
                  the nearest above

  --store=DIR     look in this store
  --json          print an object

Exit status: 0 named, 1 there is no such environment, 2 wrong usage.
)";

constexpr std::string_view kUntagUsage =
    R"(usage: pinstep untag [--store=DIR] [--json] TAG

Takes a name from its environment, which stays.

  --store=DIR     look in this store
  --json          print an object

Exit status: 0 taken, 1 there is no such tag, 2 wrong usage.
)";
// clang-format on

Error no_tag(const std::string& text) {
  return {ErrorKind::usage, "'" + text + "' cannot be a tag",
          "a lower-case letter, then letters, digits, '.', '_' and '-'; not what could be a file or an id"};
}

// Where a tag has to be: a tag beside the prefix is seen by all who see the prefix.
int run_tag(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"store", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  const auto& words = parsed->operands;
  if (words.empty() || words.size() > 2)
    return report({ErrorKind::usage, "tag takes a name and an environment", "pinstep tag --help"}, json);
  if (!is_tag(words[0])) return report(no_tag(words[0]), json);
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  const auto env = env_of(world, *place, words.size() > 1 ? std::optional(words[1]) : std::nullopt);
  if (!env) return report(env.error(), json);
  const auto located = locate(world, *place, *env);
  if (!located) return report(located.error(), json);
  if (!located->published)
    return report({ErrorKind::invalid, "'" + located->prefix + "' is in none of the stores",
                   "only what 'pinstep build' has built can have a tag"},
                  json);

  const std::string path = store_of(*located->published).tag(words[0]);
  if (const auto written = write_once(path, located->published->id + "\n"); !written)
    return report(written.error(), json);
  if (json)
    std::printf("%s\n",
                dump_json(Json{{"tag", words[0]}, {"id", located->published->id}, {"prefix", located->prefix}})
                    .c_str());
  else
    std::printf("%s is %s\n", words[0].c_str(), printable(located->prefix).c_str());
  return kOk;
}

int run_untag(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"store", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (parsed->operands.size() != 1)
    return report({ErrorKind::usage, "untag takes a tag", "pinstep untag --help"}, json);
  const std::string& tag = parsed->operands[0];
  if (!is_tag(tag)) return report(no_tag(tag), json);
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  for (const Store& store : place->stores) {
    const auto id = tagged_id(store, tag);
    if (!id) continue;
    if (::unlink(store.tag(tag).c_str()) != 0)
      return report(fail_errno(errno, "remove", store.tag(tag)).value(), json);
    if (json)
      std::printf("%s\n", dump_json(Json{{"tag", tag}, {"id", *id}}).c_str());
    else
      std::printf("%s was %s\n", tag.c_str(), printable(store.prefix(*id)).c_str());
    return kOk;
  }
  return report({ErrorKind::not_found, "there is no tag '" + tag + "'", ""}, json);
}

}  // namespace

const Verb kTag{"tag", "give an environment a name", kTagUsage, run_tag};
const Verb kUntag{"untag", "take a name from an environment", kUntagUsage, run_untag};

}  // namespace pinstep::cli
