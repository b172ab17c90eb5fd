#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>

#include <memory>

#include "envtools/execute/execute.h"

namespace pinstep {
namespace {

struct CloseWalk {
  void operator()(FTS* walk) const { ::fts_close(walk); }
};

Result<void> seal_entry(const FTSENT& entry, std::int64_t time) {
  const mode_t mode = entry.fts_statp->st_mode;
  const char* path = entry.fts_accpath;
  if (entry.fts_info == FTS_F) {
    const mode_t sealed = (mode & S_IXUSR) != 0 ? 0555 : 0444;
    if ((mode & 07777) != sealed && ::chmod(path, sealed) != 0)
      return fail_errno(errno, "set the mode of", entry.fts_path);
  } else if (entry.fts_info == FTS_DP) {  // after what is in it: that changed its times
    const timespec times[] = {{static_cast<time_t>(time), 0}, {static_cast<time_t>(time), 0}};
    if (::chmod(path, 0555) != 0) return fail_errno(errno, "set the mode of", entry.fts_path);
    if (::utimensat(AT_FDCWD, path, times, 0) != 0)
      return fail_errno(errno, "set the times of", entry.fts_path);
  } else if (entry.fts_info == FTS_DNR || entry.fts_info == FTS_ERR || entry.fts_info == FTS_NS) {
    return fail_errno(entry.fts_errno, "list", entry.fts_path);
  }
  return {};
}

}  // namespace

Result<void> seal(const Plan& plan, const std::string& stage) {
  std::string root = stage;
  char* roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, CloseWalk> walk(::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr));
  if (walk == nullptr) return fail_errno(errno, "list", stage);
  for (FTSENT* entry; errno = 0, (entry = ::fts_read(walk.get())) != nullptr;)
    if (auto sealed = seal_entry(*entry, plan.time); !sealed) return sealed;
  if (errno != 0) return fail_errno(errno, "list", stage);
  return {};
}

}  // namespace pinstep
