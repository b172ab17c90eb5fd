// pylock.toml (PEP 751): a flat list, each package with the marker under which it is installed.
#include "envtools/base/text.h"
#include "envtools/lock/names.h"
#include "envtools/piplock/reader.h"

namespace pinstep {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<PipLock> read(const YamlNode& root) {
    lock_.kind = PipLockKind::pylock;
    const std::string version = text_at(root, "lock-version");
    if (!version.starts_with("1."))
      return fail(
          ErrorKind::unsupported,
          location(path_, root.find("lock-version")->line) + "a lock of version '" + printable(version) + "'",
          "pinstep reads version 1.0 of pylock.toml");
    lock_.requires_python = text_at(root, "requires-python");
    if (const YamlNode* groups = root.find("default-groups"); groups != nullptr)
      for (const YamlNode& group : groups->items) lock_.default_groups.insert(group.text);
    const YamlNode* packages = root.find("packages");
    if (packages == nullptr || !packages->is_sequence())
      return fail(ErrorKind::invalid,
                  location(path_, packages ? packages->line : 1) + "the lock has no packages");
    for (const YamlNode& item : packages->items)
      if (const auto done = read_package(item); !done) return tl::unexpected(done.error());
    return std::move(lock_);
  }

 private:
  Result<void> read_package(const YamlNode& item) {
    PipPackage package;
    package.line = item.line;
    package.name = normalized_name(text_at(item, "name"));
    package.version = text_at(item, "version");
    package.marker = text_at(item, "marker");
    package.requires_python = text_at(item, "requires-python");
    if (!is_path_component(package.name))
      return fail(ErrorKind::invalid, location(path_, item.line) + "a package has no name");
    if (const YamlNode* wheels = item.find("wheels"); wheels != nullptr)
      for (const YamlNode& wheel : wheels->items) add_archive(package, wheel);
    if (const YamlNode* archive = item.find("archive"); archive != nullptr) add_archive(package, *archive);
    if (const YamlNode* vcs = item.find("vcs"); vcs != nullptr)
      package.source = text_at(*vcs, "type") + "+" + text_at(*vcs, "url");
    if (const YamlNode* directory = item.find("directory"); directory != nullptr) {
      package.source = text_at(*directory, "path");
      package.own_code = text_at(*directory, "editable") == "true";
    }
    lock_.packages.push_back(std::move(package));
    return {};
  }

  void add_archive(PipPackage& package, const YamlNode& from) const {
    PipWheel wheel;
    wheel.url = archive_url(from, path_);
    wheel.file = text_at(from, "name");
    if (wheel.file.empty()) wheel.file = file_name_of(wheel.url);
    wheel.size = parse_number<std::uint64_t>(text_at(from, "size")).value_or(0);
    if (const YamlNode* hashes = from.find("hashes"); hashes != nullptr)
      wheel.sha256 = text_at(*hashes, "sha256");
    package.wheels.push_back(std::move(wheel));
  }

  const std::string& path_;
  PipLock lock_;
};

}  // namespace

Result<PipLock> parse_pylock(const YamlNode& root, const std::string& path) { return Reader(path).read(root); }

}  // namespace pinstep
