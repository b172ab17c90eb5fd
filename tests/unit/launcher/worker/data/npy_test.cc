#include "launcher/worker/data/npy.h"

#include "envtools/base/fd.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::Succeeds;
using testing_support::TemporaryDirectory;

TEST(NpyHead, IsThatOfNumPyAndAlignsTheElements) {
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{}, {3}, {128, 784}, {1, 2, 3}}) {
    const std::string head = npy_head("<f4", shape);
    EXPECT_EQ(head.size() % 64, 0U);
    EXPECT_TRUE(head.starts_with(std::string_view("\x93NUMPY\x01\x00", 8)));
    EXPECT_EQ(static_cast<unsigned char>(head[8]) + 256U * static_cast<unsigned char>(head[9]),
              head.size() - 10);
    EXPECT_EQ(head.back(), '\n');
  }
  EXPECT_EQ(npy_head("<u4", {2, 3}).substr(10, 63),
            "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3, ), }  ");
}

TEST(WriteWhole, ReplacesTheFileAndLeavesNothingBeside) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  ASSERT_THAT(write_whole(path, "head ", "body"), Succeeds());
  ASSERT_THAT(write_whole(path, "other ", "text"), Succeeds());
  EXPECT_EQ(read_file(path, 100)->text, "other text");
  EXPECT_FALSE(read_file(path + "+", 100));
}

TEST(WriteWhole, NamesTheFileItCannotWrite) {
  const TemporaryDirectory directory;
  EXPECT_THAT(write_whole(directory / "no/file", "", ""),
              testing_support::FailsWith(ErrorKind::not_found, "cannot write '" + (directory / "no/file") +
                                                                   "': No such file or directory"));
}

}  // namespace
}  // namespace pinstep::worker
