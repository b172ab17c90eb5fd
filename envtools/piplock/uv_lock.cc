// uv.lock: a graph for all machines at once. What is wanted is what can be reached from the projects of the
// lock.
#include "envtools/base/text.h"
#include "envtools/lock/names.h"
#include "envtools/piplock/reader.h"

namespace pinstep {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<PipLock> read(const YamlNode& root) {
    lock_.kind = PipLockKind::uv;
    const YamlNode* version = root.find("version");
    if (const YamlNode* metadata = root.find("metadata");
        metadata != nullptr && metadata->find("content-hash") != nullptr)
      return fail(ErrorKind::unsupported, location(path_, metadata->line) + "poetry.lock is not read",
                  "'poetry export' writes requirements with hashes, which are");
    if (version == nullptr || !version->is_scalar()) return fail_at(1, "the lock has no 'version'");
    if (version->text != "1")
      return fail(ErrorKind::unsupported,
                  location(path_, version->line) + "a uv.lock of version '" + printable(version->text) + "'",
                  "pinstep reads version 1");
    lock_.requires_python = text_at(root, "requires-python");
    if (const YamlNode* packages = root.find("package"); packages != nullptr)
      for (const YamlNode& item : packages->items)
        if (const auto done = read_package(item); !done) return tl::unexpected(done.error());
    return std::move(lock_);
  }

 private:
  tl::unexpected<Error> fail_at(int line, std::string_view cause) const {
    return fail(ErrorKind::invalid, location(path_, line) + std::string(cause));
  }

  Result<void> read_package(const YamlNode& item) {
    PipPackage package;
    package.line = item.line;
    package.name = normalized_name(text_at(item, "name"));
    package.version = text_at(item, "version");
    if (!is_path_component(package.name)) return fail_at(item.line, "a package has no name");
    if (const YamlNode* source = item.find("source"); source != nullptr) read_source(package, *source);
    if (const YamlNode* wheels = item.find("wheels"); wheels != nullptr)
      for (const YamlNode& wheel : wheels->items) add_wheel(package, wheel);
    add_needs(package.needs, item.find("dependencies"));
    add_sections(package.extras, item.find("optional-dependencies"));
    add_sections(package.groups, item.find("dev-dependencies"));
    lock_.packages.push_back(std::move(package));
    return {};
  }

  // { registry = … } and { url = … } have archives; the others are places of source code.
  static void read_source(PipPackage& package, const YamlNode& source) {
    package.own_code = source.find("editable") != nullptr || source.find("virtual") != nullptr;
    for (const std::string_view kind : {"editable", "virtual", "directory", "git"})
      if (const std::string place = text_at(source, kind); !place.empty())
        package.source = (kind == "git" ? "git+" : "") + place;
  }

  void add_wheel(PipPackage& package, const YamlNode& from) const {
    PipWheel wheel;
    wheel.url = archive_url(from, path_);
    wheel.file = text_at(from, "filename");
    if (wheel.file.empty()) wheel.file = file_name_of(wheel.url);
    const std::string hash = text_at(from, "hash");
    if (hash.starts_with("sha256:")) wheel.sha256 = hash.substr(7);
    wheel.size = parse_number<std::uint64_t>(text_at(from, "size")).value_or(0);
    package.wheels.push_back(std::move(wheel));
  }

  static void add_needs(std::vector<PipNeed>& needs, const YamlNode* list) {
    if (list == nullptr) return;
    for (const YamlNode& item : list->items) {
      PipNeed need{normalized_name(text_at(item, "name")),
                   text_at(item, "version"),
                   text_at(item, "marker"),
                   {},
                   item.line};
      if (const YamlNode* extras = item.find("extra"); extras != nullptr)
        for (const YamlNode& extra : extras->items) need.extras.push_back(extra.text);
      needs.push_back(std::move(need));
    }
  }

  static void add_sections(std::map<std::string, std::vector<PipNeed>>& sections, const YamlNode* node) {
    if (node == nullptr) return;
    for (std::size_t i = 0; i < node->keys.size(); ++i)
      add_needs(sections[node->keys[i].text], &node->items[i]);
  }

  const std::string& path_;
  PipLock lock_;
};

}  // namespace

Result<PipLock> parse_uv_lock(const YamlNode& root, const std::string& path) { return Reader(path).read(root); }

}  // namespace pinstep
