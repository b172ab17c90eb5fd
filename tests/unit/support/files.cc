#include "tests/unit/support/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace pinstep::testing_support {
namespace {

constexpr uid_t kNobody = 65534;

void check(bool holds, const std::string& action) {
  if (!holds) throw std::system_error(errno, std::generic_category(), action);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "pinstep-unit-XXXXXX").string();
  check(::mkdtemp(path_.data()) != nullptr, "mkdtemp " + path_);
  check(::chmod(path_.c_str(), 0755) == 0, "chmod " + path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, std::string_view text, mode_t mode) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  check(file.good(), "write " + path);
  check(::chmod(path.c_str(), mode) == 0, "chmod " + path);
}

void write_prefix(const std::string& directory, std::string_view activation) {
  write_file(directory + "/conda-meta/pinstep/activation", activation);
}

bool give_to_ordinary_owner(const std::string& path, uid_t& owner) {
  owner = ::geteuid() == 0 ? kNobody : ::geteuid();
  return ::geteuid() != 0 || ::chown(path.c_str(), owner, static_cast<gid_t>(-1)) == 0;
}

OrdinaryUser::OrdinaryUser() : user_(::geteuid()) {
  if (user_ == 0) check(::seteuid(kNobody) == 0, "seteuid");
}

OrdinaryUser::~OrdinaryUser() {
  if (user_ == 0 && ::seteuid(0) != 0) std::abort();
}

}  // namespace pinstep::testing_support
