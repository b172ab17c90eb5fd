// Real files for tests: a directory that goes when the test ends, and what is put in it.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <string_view>

namespace pinstep::testing_support {

// Every user may look into it, so that a test may give up root's rights and still use it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Makes or replaces a file, and the directories above it. Throws what goes wrong: the test then fails.
void write_file(const std::string& path, std::string_view text, mode_t mode = 0644);

// A prefix made by hand: `directory` with this activation file.
void write_prefix(const std::string& directory, std::string_view activation);

// An owner who is neither root nor somebody a test trusts by accident: this user, or for root some other
// one. False where the file cannot be given away.
bool give_to_ordinary_owner(const std::string& path, uid_t& owner);

// While it lives a test run by root has an ordinary user's rights on files.
class OrdinaryUser {
 public:
  OrdinaryUser();
  ~OrdinaryUser();
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  uid_t user_;
};

}  // namespace pinstep::testing_support
