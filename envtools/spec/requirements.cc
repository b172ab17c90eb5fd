#include "envtools/spec/requirements.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/hash/hash.h"

namespace pinstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLimit = 1 << 20;  // bytes
constexpr std::size_t kFilesLimit = 100;

std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  return line;
}

class Reader {
 public:
  explicit Reader(Spec& spec) : spec_(spec), directory_(fs::path(spec.path).parent_path()) {}

  Result<void> read() {
    std::vector<SpecLine> lines;
    lines.swap(spec_.pip);
    for (SpecLine& line : lines)
      if (auto done = take(std::move(line), directory_, FileOption::Kind::requirements); !done) return done;
    return {};
  }

 private:
  using Kind = FileOption::Kind;

  tl::unexpected<Error> fail_at(const SpecLine& line, ErrorKind kind, const std::string& why,
                                std::string hint = {}) const {
    return fail(kind,
                place_of(spec_, line) + "'" + printable(without_credentials_anywhere(line.text)) + "': " + why,
                std::move(hint));
  }

  Result<void> take(SpecLine line, const fs::path& directory, Kind kind) {
    if (const auto option = file_option(line.text)) {
      const Kind inner = kind == Kind::constraints ? kind : option->kind;
      return read_file_of(line, *option, directory, inner);
    }
    const bool is_option = line.text.starts_with('-');
    (kind == Kind::constraints && !is_option ? spec_.constraints : spec_.pip).push_back(std::move(line));
    return {};
  }

  Result<void> read_file_of(const SpecLine& line, const FileOption& option, const fs::path& directory,
                            Kind kind) {
    if (option.path.empty()) return fail_at(line, ErrorKind::invalid, "no file is named");
    if (option.path.find("://") != std::string::npos)
      return fail_at(line, ErrorKind::invalid, "a file on the network may be another one tomorrow",
                     "fetch it, and name the file");
    const fs::path path = (directory / option.path).lexically_normal();
    if (std::find(open_.begin(), open_.end(), path) != open_.end())
      return fail_at(line, ErrorKind::invalid, "the file reads itself");
    if (++files_ > kFilesLimit) return fail_at(line, ErrorKind::invalid, "there are more than 100 such files");
    const auto file = read_file(path.string(), kFileLimit, Links::followed);
    if (!file) return fail_at(line, file.error().kind, file.error().cause, file.error().hint);
    const std::string shown = path.lexically_relative(directory_).string();
    spec_.inputs[shown] = sha256_hex(file->text);
    open_.push_back(path);
    for (SpecLine& inner : requirement_lines(file->text)) {
      inner.origin = shown + ":" + std::to_string(inner.line);
      inner.line = line.line;
      if (auto done = take(std::move(inner), path.parent_path(), kind); !done) return done;
    }
    open_.pop_back();
    return {};
  }

  Spec& spec_;
  const fs::path directory_;
  std::vector<fs::path> open_;  // being read
  std::size_t files_ = 0;
};

}  // namespace

std::vector<SpecLine> requirement_lines(std::string_view text) {
  std::vector<SpecLine> lines;
  std::string whole;
  int number = 0, begin = 0;
  const auto finish = [&] {
    if (const std::string_view content = trim(whole); !content.empty())
      lines.push_back({std::string(content), begin, {}});
    whole.clear();
    begin = 0;
  };
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (begin == 0) begin = number;
    // pip joins lines first, but a comment's backslash does not join.
    const bool is_comment = trim(line).starts_with('#');
    if (!is_comment && line.ends_with('\\')) {
      whole += line.substr(0, line.size() - 1);
      continue;
    }
    if (!is_comment) whole += line;
    whole = without_comment(whole);
    finish();
  }
  whole = without_comment(whole);
  finish();
  return lines;
}

std::optional<FileOption> file_option(std::string_view line) {
  constexpr std::array<std::pair<std::string_view, FileOption::Kind>, 4> kOptions{
      {{"--requirement", FileOption::Kind::requirements},
       {"--constraint", FileOption::Kind::constraints},
       {"-r", FileOption::Kind::requirements},
       {"-c", FileOption::Kind::constraints}}};
  for (const auto& [name, kind] : kOptions) {
    if (!line.starts_with(name)) continue;
    std::string_view rest = line.substr(name.size());
    const bool ends = rest.empty() || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '=';
    if (name.size() > 2 && !ends) continue;
    rest = trim(rest);
    if (rest.starts_with('=')) rest = trim(rest.substr(1));
    if (rest.size() >= 2 && (rest[0] == '"' || rest[0] == '\'') && rest.back() == rest[0])
      rest = rest.substr(1, rest.size() - 2);
    return FileOption{kind, std::string(rest)};
  }
  return {};
}

Result<void> read_requirement_files(Spec& spec) { return Reader(spec).read(); }

std::string place_of(const Spec& spec, const SpecLine& line) {
  return spec.path + ":" + std::to_string(line.line) + ": " + (line.origin.empty() ? "" : line.origin + ": ");
}

}  // namespace pinstep
