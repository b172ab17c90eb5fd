#include "envtools/activation/activation.h"

#include <algorithm>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kMagic = "pinstep-activation";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kRebuildHint = "build or repair the environment again";
constexpr Clock::Milliseconds kRetryEvery{100};

bool is_id(std::string_view text) {
  if (text == "-") return true;
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_list_op(EditOp op) { return op == EditOp::prepend || op == EditOp::append || op == EditOp::remove; }

// Nothing for a malformed record; `known` tells a record of a newer version from a broken one.
std::optional<Edit> parse_record(std::string_view record, bool& known) {
  const std::size_t op_end = record.find(' ');
  const auto op = parse_edit_op(record.substr(0, op_end));
  known = op.has_value();
  if (!op || op_end == std::string_view::npos) return std::nullopt;

  const std::string_view rest = record.substr(op_end + 1);
  const std::size_t name_end = rest.find(' ');
  const std::string_view name = rest.substr(0, name_end);
  const bool has_value = name_end != std::string_view::npos;
  if (name.empty() || name.find_first_of("=\n") != std::string_view::npos) return std::nullopt;
  if (has_value == (*op == EditOp::unset)) return std::nullopt;

  const std::string_view value = has_value ? rest.substr(name_end + 1) : std::string_view{};
  if (is_list_op(*op) && (value.empty() || value.find(':') != std::string_view::npos)) return std::nullopt;
  return Edit{*op, name, value};
}

}  // namespace

bool Trust::covers(uid_t owner) const {
  return owner == 0 || owner == user || std::find(also.begin(), also.end(), owner) != also.end();
}

Result<Activation> Activation::parse(std::string content, const std::string& path) {
  Activation activation;
  activation.content_ = std::make_unique<const std::string>(std::move(content));
  std::string_view rest = *activation.content_;

  const auto line = split_once(rest, '\n');
  const std::vector<std::string_view> words = split(line ? line->before : rest, ' ');
  if (!line || words.size() < 2 || words[0] != kMagic)
    return fail(ErrorKind::corrupt, "'" + path + "' is not an activation file", std::string(kRebuildHint));
  if (words[1] != kVersion)
    return fail(ErrorKind::unsupported,
                "'" + path + "' has version '" + std::string(words[1]) + "', this pinstep reads 1",
                "the environment was built by a newer pinstep than this node has");
  if (words.size() != 3 || !is_id(words[2]))
    return fail(ErrorKind::corrupt, "'" + path + "' has no valid environment id in its first line",
                std::string(kRebuildHint));
  activation.id_ = words[2];

  rest = line->after;
  activation.edits_.reserve(static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\0')));
  for (std::size_t number = 1; !rest.empty(); ++number) {
    if (number > kRecordLimit)
      return fail(ErrorKind::corrupt,
                  "'" + path + "' has more than " + std::to_string(kRecordLimit) + " records",
                  std::string(kRebuildHint));
    const auto halves = split_once(rest, '\0');
    const auto at = [&] { return "'" + path + "': record " + std::to_string(number); };
    if (!halves) return fail(ErrorKind::corrupt, at() + " is cut off", std::string(kRebuildHint));
    bool known = false;
    const auto edit = parse_record(halves->before, known);
    if (!edit && !known)
      return fail(ErrorKind::unsupported, at() + " is of a kind this pinstep does not know",
                  "the environment was built by a newer pinstep than this node has");
    if (!edit) return fail(ErrorKind::corrupt, at() + " is malformed", std::string(kRebuildHint));
    activation.edits_.push_back(*edit);
    rest = halves->after;
  }
  return activation;
}

std::string format_activation(std::string_view id, const std::vector<Edit>& edits) {
  std::string text;
  text.append(kMagic).append(" ").append(kVersion).append(" ").append(id).append("\n");
  for (const Edit& edit : edits) {
    text.append(to_string(edit.op)).append(" ").append(edit.name);
    if (edit.op != EditOp::unset) text.append(" ").append(edit.value);
    text += '\0';
  }
  return text;
}

std::string activation_path(const std::string& prefix) { return prefix + "/conda-meta/pinstep/activation"; }

Result<Activation> load_activation(const std::string& prefix, const Trust& trust, Clock& clock,
                                   Clock::Milliseconds patience) {
  const std::string path = activation_path(prefix);
  Result<FileContent> file = read_file(path, Activation::kSizeLimit);
  const Clock::Milliseconds end = patience.count() > 0 ? clock.now() + patience : Clock::Milliseconds{0};
  while (!file && file.error().kind == ErrorKind::not_found && patience.count() > 0) {
    const Clock::Milliseconds left = end - clock.now();
    if (left.count() <= 0) break;
    clock.sleep(std::min(left, kRetryEvery));
    file = read_file(path, Activation::kSizeLimit);
  }
  if (!file) return tl::unexpected(file.error());
  if (!trust.covers(file->info.st_uid))
    return fail(ErrorKind::refused,
                "'" + path + "' belongs to user " + std::to_string(file->info.st_uid) +
                    ", who is neither you nor trusted here",
                "a site names trusted owners with 'trusted_uids' in pinstep.conf");
  return Activation::parse(std::move(file->text), path);
}

}  // namespace pinstep
