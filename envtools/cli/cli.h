// The command line of `pinstep`: one table of verbs, one file per verb.
//
// To add a verb: write verb_NAME.cc with a function of type Verb::run, declare it below, add a line to the
// table in main.cc, its part of man/pinstep.1 and of contrib/completions/pinstep.bash. tests/docs compares
// table, help, page and completion.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep::cli {

// What a verb may know of the process it runs in; made once in main().
struct World {
  Environment environment;
  std::string directory;  // working directory, absolute; empty where it was removed
};

using Arguments = std::vector<std::string>;

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line for `pinstep --help`
  std::string_view usage;    // whole text for `pinstep VERB --help`
  int (*run)(const World& world, const Arguments& arguments);
  bool hands_on = false;  // most of its arguments are another program's: --help is ours as the first word only
};

extern const Verb kActivate;
extern const Verb kAdd;
extern const Verb kBuild;
extern const Verb kDiff;
extern const Verb kDoctor;
extern const Verb kExport;
extern const Verb kGc;
extern const Verb kInit;
extern const Verb kLint;
extern const Verb kList;
extern const Verb kLock;
extern const Verb kProfile;
extern const Verb kRemove;
extern const Verb kResolve;
extern const Verb kRun;
extern const Verb kSalloc;
extern const Verb kSbatch;
extern const Verb kSetup;
extern const Verb kShow;
extern const Verb kSrun;
extern const Verb kTag;
extern const Verb kUntag;

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// ---- options

// Options and operands of a verb, in getopt_long's manner: "--name=value", "--name value", "--flag", "-f",
// "-n value", and "--" before operands.
struct OptionSpec {
  std::string_view name;  // "site"
  bool takes_value;
  char letter = '\0';  // 'q' for "-q"
};

class Parsed {
 public:
  bool has(std::string_view name) const;
  std::optional<std::string> last(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;

  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> operands;
};

// Errors: usage; an unknown option is named with the nearest one.
Result<Parsed> parse(const Arguments& arguments, const std::vector<OptionSpec>& specs);

// ---- what verbs share

// Prints "pinstep: error: cause" and "pinstep: hint: …" to standard error, or with `json` an object
// {"error": kind, "cause": …, "hint": …} to standard output; gives the exit code.
int report(const Error& error, bool json);

// Whether --json is among arguments that could not be parsed.
bool wants_json(const Arguments& arguments);

std::string json_string(std::string_view text);

// A file that only pinstep calls: in ../libexec/pinstep of this program's directory, or where it was installed.
std::string private_file(std::string_view name);

// A path as typed, absolute: `directory` is what a relative one starts from.
std::string absolute(std::string_view path, const std::string& directory);

}  // namespace pinstep::cli
