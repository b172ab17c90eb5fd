#include "envtools/execute/execute.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "envtools/base/fd.h"
#include "envtools/execute/files.h"
#include "envtools/execute/workers.h"
#include "envtools/hash/hash.h"
#include "envtools/plan/prefix.h"

namespace pinstep {
namespace {

using Kind = PlannedFile::Kind;

Result<void> make_directories(const Plan& plan, const std::string& stage) {
  for (const std::string& directory : plan.directories) {
    const std::string path = stage + "/" + directory;
    if (::mkdir(path.c_str(), 0755) != 0) return fail_errno(errno, "create", path);
  }
  return {};
}

bool is_linked(const PlannedFile& file) { return file.kind == Kind::link || file.kind == Kind::copy; }

// How each package is linked. Its files lie on one file system and have one owner; packages of one file system
// and owner are alike.
std::vector<LinkMethod> link_methods(const Plan& plan, const std::string& stage) {
  std::vector<LinkMethod> methods(plan.packages.size(), LinkMethod::copy);
  std::vector<bool> seen(plan.packages.size(), false);
  std::map<std::pair<dev_t, uid_t>, LinkMethod> probed;
  for (const PlannedFile& file : plan.files) {
    if (file.kind != Kind::link || file.owner == kNoOwner || seen[file.owner]) continue;
    struct stat info {};
    if (::stat(file.source.c_str(), &info) != 0) continue;  // linking it says what is wrong
    const auto [found, fresh] = probed.try_emplace({info.st_dev, info.st_uid}, LinkMethod::copy);
    if (fresh) found->second = probe_link_method(file.source, stage);
    methods[file.owner] = found->second;
    seen[file.owner] = true;
  }
  return methods;
}

// What a file that differs from its source holds.
Result<std::string> content_of(const PlannedFile& file, const std::string& prefix) {
  if (file.kind == Kind::generated) return file.content;
  auto source = read_file(file.source, std::numeric_limits<off_t>::max());
  if (!source) return tl::unexpected(source.error());
  std::string& text = source->text;
  if (file.kind == Kind::binary) return replace_in_binary(std::move(text), file.placeholder, prefix);
  if (file.kind == Kind::text) return replace_in_text(text, file.placeholder, prefix);
  return replace_script_interpreter(text, file.content);
}

class Executor {
 public:
  Executor(const Plan& plan, const std::string& stage) : plan_(plan), stage_(stage) {
    executed_.files.resize(plan.files.size());
  }

  Result<Executed> run(int jobs, const LinkProgress& progress) {
    if (auto made = make_directories(plan_, stage_); !made) return tl::unexpected(made.error());
    methods_ = link_methods(plan_, stage_);

    // The largest first, so that no thread is left alone with one at the end.
    std::vector<std::size_t> order(plan_.files.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return cost(plan_.files[a]) > cost(plan_.files[b]); });
    const auto report = [&](std::size_t done) {
      if (progress) progress(done, order.size());
    };
    auto ran = run_workers(
        order.size(), jobs, [&](std::size_t i) { return make(order[i]); }, report);
    if (!ran) return tl::unexpected(ran.error());
    executed_.linked = linked_;
    executed_.copied = copied_;
    return std::move(executed_);
  }

 private:
  // Hard links and clones cost the same for every size.
  std::uint64_t cost(const PlannedFile& file) const {
    const bool by_size = file.kind != Kind::link || methods_[file.owner] == LinkMethod::copy;
    return by_size ? file.size : 0;
  }

  Result<void> make(std::size_t index) {
    const PlannedFile& file = plan_.files[index];
    const std::string target = stage_ + "/" + file.path;
    const NewFile as{file.executable, file.time};
    if (file.kind == Kind::symlink) return make_symlink(target, file.content, file.time);
    if (is_linked(file)) {
      const LinkMethod method = file.kind == Kind::copy ? LinkMethod::copy : methods_[file.owner];
      auto linked = link_file(file.source, target, method, as);
      if (!linked) return tl::unexpected(linked.error());
      ++(*linked ? linked_ : copied_);
      executed_.files[index] = {file.sha256, file.size};
      return {};
    }
    auto content = content_of(file, plan_.prefix);
    if (!content) return tl::unexpected(content.error());
    executed_.files[index] = {sha256_hex(*content), content->size()};
    return write_new_file(target, *content, as);
  }

  const Plan& plan_;
  const std::string& stage_;
  std::vector<LinkMethod> methods_;
  Executed executed_;
  std::atomic<std::size_t> linked_ = 0, copied_ = 0;
};

}  // namespace

Result<Executed> execute_plan(const Plan& plan, const std::string& stage, int jobs,
                              const LinkProgress& progress) {
  return Executor(plan, stage).run(jobs, progress);
}

std::map<std::string, std::string> known_digests(const Plan& plan) {
  std::map<std::string, std::string> known;
  for (const PlannedFile& file : plan.files)
    if (is_linked(file) && !file.sha256.empty()) known.emplace(file.path, file.sha256);
  return known;
}

}  // namespace pinstep
