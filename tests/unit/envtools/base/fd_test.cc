#include "envtools/base/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/support/child.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::Field;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::OrdinaryUser;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

UniqueFd open_null() { return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

TEST(UniqueFd, ClosesWhatItHolds) {
  int number = -1;
  {
    const UniqueFd fd = open_null();
    number = fd.get();
    ASSERT_TRUE(fd.valid());
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, HandsOverWhenMoved) {
  UniqueFd first = open_null();
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(second.get(), number);

  UniqueFd third = open_null();
  const int closed = third.get();
  third = std::move(second);
  EXPECT_FALSE(is_open(closed));
  EXPECT_EQ(third.get(), number);
  UniqueFd& same = third;
  third = std::move(same);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, LeavesAReleasedDescriptorOpen) {
  UniqueFd fd = open_null();
  const UniqueFd again(fd.release());
  EXPECT_FALSE(fd.valid());
  EXPECT_TRUE(is_open(again.get()));
}

class ReadFile : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "file";
};

TEST_F(ReadFile, GivesTheTextAndTheOpenFilesStatus) {
  const std::string text("a\0b\n\xff", 5);
  write_file(path_, text, 0640);
  const auto content = read_file(path_, 100);
  ASSERT_THAT(content, Holds(Field(&FileContent::text, text)));
  EXPECT_EQ(content->info.st_mode & 07777, 0640u);
  EXPECT_EQ(content->info.st_uid, ::geteuid());
}

TEST_F(ReadFile, TakesAFileOfExactlyTheLimit) {
  write_file(path_, std::string(4096, 'x'));
  EXPECT_THAT(read_file(path_, 4096), Holds(Field(&FileContent::text, std::string(4096, 'x'))));
  EXPECT_THAT(read_file(path_, 4095),
              FailsWith(ErrorKind::corrupt, "'" + path_ + "' is longer than 4095 bytes"));
}

TEST_F(ReadFile, TakesAnEmptyFile) {
  write_file(path_, "");
  EXPECT_THAT(read_file(path_, 0), Holds(Field(&FileContent::text, "")));
}

TEST_F(ReadFile, SaysThatThereIsNoFile) {
  EXPECT_THAT(read_file(path_, 10),
              FailsWith(ErrorKind::not_found, "cannot open '" + path_ + "': No such file or directory"));
}

TEST_F(ReadFile, SaysThatAFileStandsWhereADirectoryShould) {
  write_file(path_, "");
  EXPECT_THAT(read_file(path_ + "/below", 10),
              FailsWith(ErrorKind::not_found, "cannot open '" + path_ + "/below': Not a directory"));
}

TEST_F(ReadFile, RefusesASymbolicLinkAtTheEndOnly) {
  write_file(directory_ / "real/file", "text");
  ASSERT_EQ(::symlink((directory_ / "real").c_str(), (directory_ / "alias").c_str()), 0);
  ASSERT_EQ(::symlink((directory_ / "real/file").c_str(), path_.c_str()), 0);
  EXPECT_THAT(read_file(path_, 10),
              FailsWith(ErrorKind::refused, "'" + path_ + "' is a symbolic link, which is not followed here"));
  EXPECT_THAT(read_file(path_, 10, Links::followed), Holds(Field(&FileContent::text, "text")));
  EXPECT_THAT(read_file(directory_ / "alias/file", 10), Holds(Field(&FileContent::text, "text")));
}

TEST_F(ReadFile, RefusesADirectory) {
  EXPECT_THAT(read_file(directory_.path(), 10),
              FailsWith(ErrorKind::corrupt, "'" + directory_.path() + "' is not a regular file"));
}

TEST_F(ReadFile, RefusesAFifoWithoutWaitingForItsWriter) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0644), 0);
  EXPECT_THAT(read_file(path_, 10), FailsWith(ErrorKind::corrupt, "'" + path_ + "' is not a regular file"));
}

TEST_F(ReadFile, RefusesADevice) {
  EXPECT_THAT(read_file("/dev/zero", 10), FailsWith(ErrorKind::corrupt, "'/dev/zero' is not a regular file"));
}

TEST_F(ReadFile, RefusesASocket) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path_.size(), sizeof address.sun_path);
  path_.copy(address.sun_path, path_.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(read_file(path_, 10), FailsWith(ErrorKind::corrupt, "'" + path_ + "' is not a regular file"));
}

TEST_F(ReadFile, RefusesWhatTheUserMayNotRead) {
  write_file(path_, "secret", 0000);
  const OrdinaryUser user;
  EXPECT_THAT(read_file(path_, 10),
              FailsWith(ErrorKind::refused, "cannot open '" + path_ + "': Permission denied"));
}

TEST_F(ReadFile, RefusesAFileWhoseContentIsMoreThanItsSize) {
  // Files of /proc say that they are empty, as a file does that grows after it was looked at.
  EXPECT_THAT(read_file("/proc/self/stat", 4096),
              FailsWith(ErrorKind::corrupt, "'/proc/self/stat' changed while it was read"));
}

TEST_F(ReadFile, LeavesNoDescriptorOpen) {
  write_file(path_, "text");
  const int before = open_null().release();
  ASSERT_TRUE(read_file(path_, 10));
  ASSERT_FALSE(read_file(path_, 1));
  ASSERT_FALSE(read_file(directory_.path(), 10));
  const int after = open_null().release();
  EXPECT_EQ(after, before + 1);
  ::close(before);
  ::close(after);
}

class ReplaceFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string text_of(const std::string& name) const {
    const auto file = read_file(path(name), 100, Links::followed);
    return file ? file->text : file.error().cause;
  }

  TemporaryDirectory directory_;
};

TEST_F(ReplaceFile, MakesOrReplacesAFile) {
  for (const char* text : {"one", "two"}) {
    EXPECT_TRUE(replace_file(path("file"), text));
    EXPECT_EQ(text_of("file"), text);
  }
}

TEST_F(ReplaceFile, ReplacesWhatALinkLeadsToAndNotTheLink) {
  write_file(path("file"), "old");
  for (const char* target : {"file", "missing"}) {
    const std::string link = path("link-to-") + target;
    ASSERT_EQ(::symlink(target, link.c_str()), 0);
    EXPECT_TRUE(replace_file(link, "new"));
    EXPECT_EQ(text_of(target), "new");
    struct stat info {};
    ASSERT_EQ(::lstat(link.c_str(), &info), 0);
    EXPECT_TRUE(S_ISLNK(info.st_mode));
  }
}

TEST_F(ReplaceFile, WritesToAFifoThatStaysOne) {
  const std::string fifo = path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(replace_file(fifo, "text"));
  char read[8] = "";
  EXPECT_EQ(::read(reader.get(), read, sizeof read), 4);
  struct stat info {};
  ASSERT_EQ(::lstat(fifo.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
}

// Links to the devices: where this went wrong, the machine's own would be gone.
TEST_F(ReplaceFile, WritesToADevice) {
  ASSERT_EQ(::symlink("/dev/null", path("null").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/full", path("full").c_str()), 0);
  EXPECT_TRUE(replace_file(path("null"), "text"));
  EXPECT_THAT(replace_file(path("full"), "text"),
              FailsWith(ErrorKind::no_space, "cannot write '" + path("full") + "': No space left on device"));
  struct stat info {};
  ASSERT_EQ(::stat(path("null").c_str(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(WriteMessage, WritesTheWholeText) {
  const auto end = testing_support::in_child([] {
    write_message(STDOUT_FILENO, "one line\n");
    return 0;
  });
  EXPECT_EQ(end.output, "one line\n");
}

TEST(WriteMessage, IgnoresThatItCannotWrite) {
  write_message(-1, "lost");
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  write_message(full.get(), "lost");
}

}  // namespace
}  // namespace pinstep
