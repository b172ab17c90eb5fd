#include "envtools/pin/use.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {

inline void PrintTo(const Use& use, std::ostream* out) { *out << file_name(use); }

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Random;
using testing_support::shown;
using testing_support::TemporaryDirectory;

const std::string kId = "0123456789abcdef";
const std::string kToken = "fedcba9876543210";

TEST(UseNames, AreWhatTheFormatSays) {
  EXPECT_EQ(file_name({kId, Use::Kind::submit, kToken}), kId + ".submit." + kToken);
  EXPECT_EQ(file_name({kId, Use::Kind::job, kToken, 42, "big"}), kId + ".job." + kToken + ".42.big");
  EXPECT_EQ(file_name({kId, Use::Kind::job, kToken, 42, "a.b/c"}), kId + ".job." + kToken + ".42.a%2Eb%2Fc");
  EXPECT_EQ(file_name({.id16 = kId, .kind = Use::Kind::run, .user = 1000}), kId + ".run.1000");
}

TEST(UseNames, AreReadBack) {
  Random random;
  for (int i = 0; i < 2000; ++i) {
    Use use{kId, Use::Kind::job, kToken, static_cast<std::uint32_t>(random.below(1 << 30)),
            random.bytes(0, 20)};
    std::replace(use.cluster.begin(), use.cluster.end(), '\0', 'x');
    EXPECT_EQ(parse_use(file_name(use)), use) << shown(use.cluster);
  }
  for (const Use& use : {Use{kId, Use::Kind::submit, kToken}, Use{kId, Use::Kind::job, kToken, 0, ""},
                         Use{.id16 = kId, .kind = Use::Kind::run, .user = 0}})
    EXPECT_EQ(parse_use(file_name(use)), use);
}

TEST(UseNames, AreTakenForNothingElse) {
  for (const std::string& name : {std::string(),
                                  std::string("."),
                                  std::string(".."),
                                  kId,
                                  kId + ".",
                                  kId + ".submit",
                                  kId + ".submit.",
                                  kId + ".submit.x",
                                  kId + ".submit." + kToken + ".",
                                  kId + ".job." + kToken,
                                  kId + ".job." + kToken + ".",
                                  kId + ".job." + kToken + ".4",
                                  kId + ".job." + kToken + ".x.c",
                                  kId + ".job." + kToken + ".4.c.d",
                                  kId + ".job." + kToken + ".04.c",
                                  kId + ".job." + kToken + ".4.%zz",
                                  kId + ".run.",
                                  kId + ".run.-1",
                                  kId + ".run.1.2",
                                  kId + ".walk.1",
                                  std::string("0123.run.1"),
                                  kId + "0.run.1"})
    EXPECT_EQ(parse_use(name), std::nullopt) << shown(name);
}

// ---- files

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* entries = ::opendir(directory.c_str());
  if (entries == nullptr) return names;
  while (const dirent* entry = ::readdir(entries))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

class Notes : public testing::Test {
 protected:
  Notes() { ::mkdir(use_directory(store_).c_str(), 0755); }

  Pin pin() const {
    Pin pin;
    pin.kind = Pin::Kind::store;
    pin.token = kToken;
    pin.store = store_;
    pin.prefixes = {{"linux-64", kId + std::string(48, '0'), store_ + "/e/" + kId}};
    return pin;
  }

  const TemporaryDirectory directory_;
  const std::string store_ = directory_.path();
};

TEST_F(Notes, NameAJobByItsArray) {
  note_submission(pin());
  note_job(pin(), Environment({{"SLURM_JOB_ID", "7"}, {"SLURM_CLUSTER_NAME", "big"}}));
  note_job(pin(),
           Environment({{"SLURM_JOB_ID", "9"}, {"SLURM_ARRAY_JOB_ID", "8"}, {"SLURM_CLUSTER_NAME", "big"}}));
  note_job(pin(), {});
  EXPECT_THAT(names_in(store_ + "/u"),
              ElementsAre(kId + ".job." + kToken + ".7.big", kId + ".job." + kToken + ".8.big",
                          kId + ".submit." + kToken));
}

TEST_F(Notes, AreOfStoresOnly) {
  Pin foreign = pin();
  foreign.kind = Pin::Kind::foreign;
  note_submission(foreign);
  EXPECT_THAT(names_in(store_ + "/u"), IsEmpty());
}

TEST_F(Notes, RenewTheTimeAndLeaveTheContent) {
  const Use use{.id16 = kId, .kind = Use::Kind::run, .user = 1};
  const std::string path = store_ + "/u/" + file_name(use);
  testing_support::write_file(path, "kept");
  const timespec old[2]{{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  note_use(store_, use);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_GT(info.st_mtime, 1000);
  EXPECT_EQ(info.st_size, 4);
}

TEST_F(Notes, FollowNoLinksAndWaitForNobody) {
  const Use use{.id16 = kId, .kind = Use::Kind::run, .user = 1};
  const std::string path = store_ + "/u/" + file_name(use);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  note_use(store_, use);
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink((store_ + "/made").c_str(), path.c_str()), 0);
  note_use(store_, use);
  EXPECT_NE(::access((store_ + "/made").c_str(), F_OK), 0);
  ::unlink(path.c_str());
  ::rmdir((store_ + "/u").c_str());
  ::mkdir((store_ + "/elsewhere").c_str(), 0755);
  ASSERT_EQ(::symlink("elsewhere", (store_ + "/u").c_str()), 0);
  note_use(store_, use);
  EXPECT_THAT(names_in(store_ + "/elsewhere"), IsEmpty());
  note_use("/nonexistent", use);
}

}  // namespace
}  // namespace pinstep
