#include "launcher/worker/cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "envtools/base/text.h"

namespace pinstep::worker {

const char* const kWorkerUsage =
    R"(usage: pinstep-worker train [OPTION]...

Trains a small network on several ranks, each with its share of the data: a reference
for what a data-parallel rank must do, and a test of an allocation. Started once per
rank: srun pinstep-launch -- pinstep-worker train. Without a job it is alone.

data
  --data=DIR           MNIST's four files; Debian's dataset-fashion-mnist by default
  --images=N           train on the first N images only
  --test-images=N      and test on the first N
training
  --epochs=N           passes over the data (3)
  --steps=N            end after this many steps
  --batch=N            images per rank and step (64)
  --hidden=N,N,...     units of the hidden layers (256,128)
  --lr=X               learning rate (0.05)
  --momentum=X         (0.9)
  --weight-decay=X     (0)
  --seed=N             of the initial weights and the order of the images (1)
ranks
  --store=WHICH        how ranks meet: tcp (MASTER_ADDR, MASTER_PORT), pmix, or auto (the default)
  --timeout=SECONDS    for each exchange between the ranks (60)
  --start-timeout=SECONDS  for all ranks to arrive (300)
  --bucket=BYTES       gradients are exchanged in pieces of this size (25M)
  --first-bucket=BYTES the first piece, smaller to start early (1M)
output
  --save=DIR           each rank leaves its weights in DIR/rank-N
  --json               one JSON object per line
  --help, --version

Exit status: 0, 1 failed, 2 wrong usage, 3 another rank is gone or does not answer,
4 the ranks lost each other and nobody knows why.
)";

namespace {

using Value = std::string_view;

template <class Unsigned>
bool read_number(Value text, Unsigned& value, Unsigned least) {
  const auto number = parse_number<Unsigned>(text);
  if (!number || *number < least) return false;
  value = *number;
  return true;
}

bool read_real(Value text, float& value) {
  float number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || !std::isfinite(number) || number < 0)
    return false;
  value = number;
  return true;
}

bool read_seconds(Value text, Milliseconds& value) {
  float seconds = 0;
  if (!read_real(text, seconds) || seconds < 0.1F || seconds > 1e6F) return false;
  value = Milliseconds(static_cast<std::int64_t>(std::lround(seconds * 1000)));
  return true;
}

// 25M, 64K, 1000.
bool read_bytes(Value text, std::size_t& value) {
  const int shift = text.ends_with('M') ? 20 : text.ends_with('K') ? 10 : 0;
  if (shift > 0) text.remove_suffix(1);
  std::uint32_t number = 0;
  if (!read_number<std::uint32_t>(text, number, 1)) return false;
  value = std::size_t{number} << shift;
  return true;
}

bool read_units(Value text, std::vector<std::uint32_t>& value) {
  std::vector<std::uint32_t> units;
  for (const Value part : split(text, ',')) {
    std::uint32_t number = 0;
    if (!read_number<std::uint32_t>(part, number, 1) || number > 65536) return false;
    units.push_back(number);
  }
  value = std::move(units);
  return true;
}

bool read_store(Value text, StoreKind& value) {
  if (text == "auto")
    value = StoreKind::automatic;
  else if (text == "tcp")
    value = StoreKind::tcp;
  else if (text == "pmix")
    value = StoreKind::pmix;
  else
    return false;
  return true;
}

struct Option {
  Value name;
  Value wants;
  bool (*read)(Value text, WorkerOptions& options);
};

constexpr Value kCount = "a number from 1";
constexpr Value kReal = "a number such as 0.05";
constexpr Value kSeconds = "seconds, from 0.1";
constexpr Value kBytes = "bytes, such as 25M";

constexpr std::array kOptions{
    Option{"--data", "a directory", [](Value v, WorkerOptions& o) { return !(o.data = v).empty(); }},
    Option{"--save", "a directory", [](Value v, WorkerOptions& o) { return !(o.save = v).empty(); }},
    Option{"--images", kCount, [](Value v, WorkerOptions& o) { return read_number(v, o.images, 1U); }},
    Option{"--test-images", kCount,
           [](Value v, WorkerOptions& o) { return read_number(v, o.test_images, 1U); }},
    Option{"--epochs", kCount, [](Value v, WorkerOptions& o) { return read_number(v, o.train.epochs, 1U); }},
    Option{"--steps", kCount,
           [](Value v, WorkerOptions& o) { return read_number(v, o.train.most_steps, std::uint64_t{1}); }},
    Option{
        "--batch", "a number from 1 to 65536",
        [](Value v, WorkerOptions& o) { return read_number(v, o.train.batch, 1U) && o.train.batch <= 65536; }},
    Option{"--hidden", "units of each layer, such as 256,128",
           [](Value v, WorkerOptions& o) { return read_units(v, o.train.hidden); }},
    Option{"--lr", kReal, [](Value v, WorkerOptions& o) { return read_real(v, o.train.rate); }},
    Option{"--momentum", kReal, [](Value v, WorkerOptions& o) { return read_real(v, o.train.momentum); }},
    Option{"--weight-decay", kReal, [](Value v, WorkerOptions& o) { return read_real(v, o.train.decay); }},
    Option{"--seed", "a number",
           [](Value v, WorkerOptions& o) { return read_number(v, o.train.seed, std::uint64_t{0}); }},
    Option{"--store", "auto, tcp or pmix",
           [](Value v, WorkerOptions& o) { return read_store(v, o.session.store); }},
    Option{"--timeout", kSeconds,
           [](Value v, WorkerOptions& o) { return read_seconds(v, o.session.deadline); }},
    Option{"--start-timeout", kSeconds,
           [](Value v, WorkerOptions& o) { return read_seconds(v, o.session.start_time); }},
    Option{"--bucket", kBytes, [](Value v, WorkerOptions& o) { return read_bytes(v, o.train.buckets.other); }},
    Option{"--first-bucket", kBytes,
           [](Value v, WorkerOptions& o) { return read_bytes(v, o.train.buckets.first); }},
};

tl::unexpected<Error> unknown(Value name) {
  std::vector<Value> names{"--json", "--help", "--version"};
  for (const Option& option : kOptions) names.push_back(option.name);
  const auto near = nearest(name, names);
  return fail(ErrorKind::usage, "there is no option '" + printable(name) + "'",
              near ? "did you mean '" + std::string(*near) + "'?" : "pinstep-worker --help");
}

// The option at this place, and its value, which may be the next word. Returns how many words it took.
Result<std::size_t> read_option(const std::vector<std::string>& arguments, std::size_t at,
                                WorkerOptions& options) {
  const Value word = arguments[at];
  const auto halves = split_once(word, '=');
  const Value name = halves ? halves->before : word;
  const auto option =
      std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& o) { return o.name == name; });
  if (option == kOptions.end()) return unknown(name);
  if (!halves && at + 1 == arguments.size())
    return fail(ErrorKind::usage, "option '" + std::string(name) + "' needs a value");
  const Value value = halves ? halves->after : Value(arguments[at + 1]);
  if (!option->read(value, options))
    return fail(ErrorKind::usage, "'" + std::string(name) + "' wants " + std::string(option->wants) +
                                      ", not '" + printable(value) + "'");
  return halves ? 1 : 2;
}

}  // namespace

Result<WorkerOptions> parse_worker_options(const std::vector<std::string>& arguments) {
  WorkerOptions options;
  bool has_verb = false;
  for (std::size_t at = 0; at < arguments.size();) {
    const Value word = arguments[at];
    if (word == "--help" || word == "-h" || word == "--version") {
      options.action = word == "--version" ? WorkerOptions::Action::version : WorkerOptions::Action::help;
      return options;
    }
    std::size_t taken = 1;
    if (word == "train" && !has_verb) {
      has_verb = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word.starts_with("--")) {
      const auto read = read_option(arguments, at, options);
      if (!read) return tl::unexpected(read.error());
      taken = *read;
    } else {
      return fail(ErrorKind::usage, "'" + printable(word) + "' is neither a verb nor an option",
                  "the verb is train");
    }
    at += taken;
  }
  if (!has_verb) return fail(ErrorKind::usage, "nothing to do", "pinstep-worker train");
  return options;
}

}  // namespace pinstep::worker
