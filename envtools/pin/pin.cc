#include "envtools/pin/pin.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/config/settings.h"

namespace pinstep {
namespace {

constexpr std::array<std::pair<Pin::Kind, std::string_view>, 3> kKinds{{
    {Pin::Kind::store, "store"},
    {Pin::Kind::foreign, "foreign"},
    {Pin::Kind::none, "none"},
}};

constexpr std::string_view kSpecial = ";";  // percent_encode escapes SP and '%' by itself

constexpr std::array<std::pair<Shape, std::string_view>, 5> kShapes{{
    {Shape::automatic, "auto"},
    {Shape::rank, "rank"},
    {Shape::torchrun, "torchrun"},
    {Shape::spawn, "spawn"},
    {Shape::none, "none"},
}};

bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

bool is_absolute(std::string_view path) {
  return path.starts_with('/') && path.find('\0') == std::string_view::npos;
}

std::string escaped(std::string_view text) { return percent_encode(text, kSpecial); }

// Space-separated, percent-escaped words; nothing if one is broken.
std::optional<std::vector<std::string>> parse_words(std::string_view text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  for (const std::string_view word : split(text, ' ')) {
    auto decoded = percent_decode(word);
    if (!decoded || decoded->empty()) return std::nullopt;
    words.push_back(std::move(*decoded));
  }
  return words;
}

// Hands out the fields of a pin one after the other.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : fields_(split(text, ';')) {}

  bool next_is(std::string_view name) const {
    if (next_ >= fields_.size()) return false;
    const auto halves = split_once(fields_[next_], '=');
    return halves && halves->before == name;
  }

  // The value of the next field, which must have this name; stays empty from the first failure on.
  std::string_view raw(std::string_view name) {
    if (!failed.empty() || !next_is(name)) return refuse(name);
    return fields_[next_++].substr(name.size() + 1);
  }
  std::string text(std::string_view name) {
    const std::string_view value = raw(name);
    auto decoded = percent_decode(value);
    if (!decoded || value.find(' ') != std::string_view::npos) refuse(name);
    return decoded.value_or("");
  }
  std::vector<std::string> words(std::string_view name) {
    auto words = parse_words(raw(name));
    if (!words) refuse(name);
    return words.value_or(std::vector<std::string>{});
  }
  std::string_view refuse(std::string_view name) {
    if (failed.empty()) failed = name;
    return {};
  }
  void require(bool holds, std::string_view name) {
    if (!holds) refuse(name);
  }

  std::string failed;  // name of the first field that is missing or wrong

 private:
  std::vector<std::string_view> fields_;
  std::size_t next_ = 1;  // after the schema
};

// Among the policies, though it is none: it is for the batch step, and a reader that does not know it must
// refuse.
constexpr std::string_view kBuildInJob = "build:job";

void read_policies(FieldReader& reader, Pin& pin) {
  Settings settings;
  for (const std::string& word : reader.words("policy")) {
    if (word == kBuildInJob) {
      pin.build_in_job = true;
      continue;
    }
    const auto halves = split_once(word, ':');
    if (!halves) {
      reader.refuse("policy");
      return;
    }
    const Assignment assignment{std::string(halves->before), std::string(halves->after), false, ""};
    reader.require(assign(settings, assignment, SetBy::anyone).has_value(), "policy");
  }
  pin.policies = settings.policies;
  reader.require(!pin.build_in_job || (pin.kind == Pin::Kind::store && pin.lock != "-"), "policy");
}

bool is_valid_prefix(const PinnedPrefix& entry, const Pin& pin) {
  if (!is_absolute(entry.prefix)) return false;
  if (pin.kind == Pin::Kind::foreign) return entry.id == "-";
  return is_hex(entry.id, 64) && entry.prefix == pin.store + "/e/" + entry.id.substr(0, 16);
}

void read_prefixes(FieldReader& reader, Pin& pin) {
  while (reader.next_is("env")) {
    std::vector<std::string> words = reader.words("env");
    if (words.size() != 3) {
      reader.refuse("env");
      return;
    }
    PinnedPrefix entry{std::move(words[0]), std::move(words[1]), std::move(words[2])};
    reader.require(is_valid_prefix(entry, pin), "env");
    reader.require(!pin.prefix_for(entry.platform).has_value(), "env");  // one per platform
    pin.prefixes.push_back(std::move(entry));
  }
  reader.require(pin.prefixes.empty() == (pin.kind == Pin::Kind::none), "env");
}

Pin::Kind read_kind(FieldReader& reader) {
  const std::string_view name = reader.raw("kind");
  for (const auto& [kind, text] : kKinds)
    if (text == name) return kind;
  reader.refuse("kind");
  return Pin::Kind::foreign;
}

Result<void> check_schema(std::string_view text) {
  const std::string_view schema = text.substr(0, text.find(';'));
  const auto number = parse_number<std::uint32_t>(schema);
  if (number && *number > Pin::kSchema)
    return fail(ErrorKind::invalid,
                "the job was submitted by a newer pinstep (pin schema " + std::string(schema) +
                    ", this one reads " + std::to_string(Pin::kSchema) + ")",
                "ask for the node's pinstep to be updated");
  if (number != std::optional<std::uint32_t>(Pin::kSchema))
    return fail(ErrorKind::invalid, "the job's pin has no valid schema", "submit the job again");
  return {};
}

}  // namespace

std::string_view to_string(Shape shape) { return kShapes[static_cast<std::size_t>(shape)].second; }

std::optional<Shape> parse_shape(std::string_view name) {
  for (const auto& [shape, text] : kShapes)
    if (text == name) return shape;
  return std::nullopt;
}

std::string_view own_platform() {
#if defined(__x86_64__)
  return "linux-64";
#elif defined(__aarch64__)
  return "linux-aarch64";
#elif defined(__powerpc64__)
  return "linux-ppc64le";
#else
#error "conda has no name for this platform yet: add it here"
#endif
}

Result<Pin> Pin::parse(std::string_view text) {
  if (text.size() > kSizeLimit)
    return fail(ErrorKind::invalid, "the job's pin is longer than " + std::to_string(kSizeLimit) + " bytes",
                "submit the job again");
  if (const auto schema = check_schema(text); !schema) return tl::unexpected(schema.error());
  if (!std::all_of(text.begin(), text.end(), is_printable))
    return fail(ErrorKind::invalid, "the job's pin holds bytes that are not printable ASCII",
                "submit the job again");

  Pin pin;
  FieldReader reader(text);
  pin.kind = read_kind(reader);
  pin.token = reader.raw("token");
  reader.require(is_hex(pin.token, 16), "token");
  pin.lock = reader.raw("lock");
  reader.require(pin.lock == "-" || is_hex(pin.lock, 64), "lock");
  pin.store = reader.text("store");
  reader.require(pin.store == "-" ? pin.kind != Kind::store : is_absolute(pin.store), "store");
  pin.overlays = reader.words("overlays");
  reader.require(std::all_of(pin.overlays.begin(), pin.overlays.end(), is_absolute), "overlays");
  const auto shape = parse_shape(reader.raw("shape"));
  reader.require(shape.has_value(), "shape");
  pin.shape = shape.value_or(Shape::automatic);
  const std::string_view share = reader.raw("share");
  reader.require(share == "0" || share == "1", "share");
  pin.gpu_share = share == "1";
  read_policies(reader, pin);
  pin.profile = reader.text("profile");
  pin.source = reader.text("source");
  read_prefixes(reader, pin);
  if (!reader.failed.empty())
    return fail(ErrorKind::invalid, "the job's pin has no valid field '" + reader.failed + "'",
                "submit the job again");
  return pin;
}

std::string Pin::text() const {
  std::string text = std::to_string(kSchema);
  const auto field = [&](std::string_view name, std::string_view value) {
    text.append(";").append(name).append("=").append(value);
  };
  field("kind", kKinds[static_cast<std::size_t>(kind)].second);
  field("token", token);
  field("lock", lock);
  field("store", escaped(store));
  std::string paths;
  for (const std::string& overlay : overlays) paths.append(paths.empty() ? "" : " ").append(escaped(overlay));
  field("overlays", paths);
  field("shape", to_string(shape));
  field("share", gpu_share ? "1" : "0");
  std::string policy_words;
  for (const Assignment& policy : changed_policies(policies))
    policy_words.append(policy_words.empty() ? "" : " ").append(policy.key).append(":").append(policy.value);
  if (build_in_job) policy_words.append(policy_words.empty() ? "" : " ").append(kBuildInJob);
  field("policy", policy_words);
  field("profile", escaped(profile));
  field("source", escaped(source));
  for (const PinnedPrefix& entry : prefixes)
    field("env", escaped(entry.platform) + " " + escaped(entry.id) + " " + escaped(entry.prefix));
  return text;
}

Result<PinnedPrefix> Pin::prefix_for(std::string_view platform) const {
  if (kind == Kind::none)
    return fail(ErrorKind::not_found, "this job was submitted without an environment",
                "submit it with --env-spec");
  std::string known;
  for (const PinnedPrefix& entry : prefixes) {
    if (entry.platform == platform) return entry;
    known.append(known.empty() ? "" : ", ").append(entry.platform);
  }
  return fail(ErrorKind::invalid,
              "the job's environment is pinned for " + known + ", not for " + std::string(platform),
              "submit it with a lock that covers this platform");
}

std::string new_token() {
  std::uint64_t number = 0;
  // Eight bytes never come back short; before the pool is ready the call waits, which is long over when
  // somebody submits jobs.
  [[maybe_unused]] const ssize_t got = ::getrandom(&number, sizeof number, 0);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace pinstep
