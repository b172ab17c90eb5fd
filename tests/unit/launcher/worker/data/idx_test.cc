#include "launcher/worker/data/idx.h"

#include <zlib.h>

#include "launcher/worker/data/images.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing::HasSubstr;
using testing_support::FailsWith;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;
using namespace std::string_literals;

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(ParseIdx, ReadsSizesAndElements) {
  const auto idx = parse_idx(
      "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
      "abcdef"s,
      "f");
  ASSERT_THAT(idx, Succeeds());
  EXPECT_EQ(idx->sizes, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(idx->elements, "abcdef");
}

TEST(ParseIdx, RefusesWhatIsBroken) {
  const struct {
    std::string bytes;
    std::string why;
  } cases[] = {
      {"", "it does not begin as one"},
      {"\0\0\x08"s, "it does not begin as one"},
      {"\0\x01\x08\x01\0\0\0\x01x"s, "it does not begin as one"},
      {"\0\0\x0d\x01\0\0\0\x01x"s, "elements of type 13, only unsigned bytes (8) are read"},
      {"\0\0\x08\0x"s, "0 dimensions"},
      {"\0\0\x08\x05"s, "5 dimensions"},
      {"\0\0\x08\x02\0\0\0\x01\0\0\0"s, "it ends in its head"},
      {"\0\0\x08\x02\0\0\0\x01\0\0\0\0"s, "a size is 0"},
      {"\0\0\x08\x01\0\0\0\x02x"s, "its sizes and its length (1 elements) disagree"},
      {"\0\0\x08\x01\0\0\0\x01xy"s, "its sizes and its length (2 elements) disagree"},
      {"\0\0\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
       "its sizes and its length (0 elements) disagree"},
      // 65536 to the power of 4 is 0 in 64 bits.
      {"\0\0\x08\x04\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0"s,
       "its sizes and its length (0 elements) disagree"},
  };
  for (const auto& [bytes, why] : cases)
    EXPECT_THAT(parse_idx(bytes, "f"), FailsWith(ErrorKind::corrupt, "'f' is no IDX file: " + why))
        << testing_support::shown(bytes);
}

TEST(UnpackGzip, JoinsMembersAndLetsOthersPass) {
  EXPECT_EQ(unpack_gzip("plain", 10, "f"), "plain");
  EXPECT_EQ(unpack_gzip(gzip("one ") + gzip("two"), 10, "f"), "one two");
}

TEST(UnpackGzip, RefusesWhatIsBrokenOrTooLong) {
  const std::string whole = gzip("some text that is not very short");
  EXPECT_THAT(unpack_gzip(whole, 10, "f"), FailsWith(ErrorKind::corrupt, "'f' unpacks to more than 10 bytes"));
  for (std::size_t length = 2; length < whole.size(); ++length)
    EXPECT_THAT(unpack_gzip(whole.substr(0, length), 100, "f"),
                FailsWith(ErrorKind::corrupt, "'f' is broken gzip"));
  EXPECT_THAT(unpack_gzip(whole + "x", 100, "f"), FailsWith(ErrorKind::corrupt, "'f' is broken gzip"));
}

TEST(UnpackGzip, GivesBackWhatWasPacked) {
  testing_support::Random random;
  for (int i = 0; i < 100; ++i) {
    const std::string bytes = random.bytes(0, 200'000);
    EXPECT_EQ(unpack_gzip(gzip(bytes), 1 << 20, "f"), bytes) << random;
  }
}

std::string idx_of(std::vector<std::uint32_t> sizes, std::string_view elements) {
  std::string bytes = "\0\0\x08"s + static_cast<char>(sizes.size());
  for (const std::uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  return bytes + std::string(elements);
}

TEST(ReadDataSet, TakesFilesWithAndWithoutGz) {
  const TemporaryDirectory directory;
  write_file(directory / "train-images-idx3-ubyte.gz", gzip(idx_of({2, 1, 2}, "abcd")));
  write_file(directory / "train-labels-idx1-ubyte", idx_of({2}, "\0\2"s));
  write_file(directory / "t10k-images-idx3-ubyte", idx_of({1, 1, 2}, "ef"));
  write_file(directory / "t10k-labels-idx1-ubyte.gz", gzip(idx_of({1}, "\1"s)));
  auto data = read_data_set(directory.path());
  ASSERT_THAT(data, Succeeds());
  EXPECT_EQ(data->train.count, 2U);
  EXPECT_EQ(data->train.pixels(), 2U);
  EXPECT_EQ(data->train.classes, 3U);
  EXPECT_EQ(data->test.values, "ef");
  data->train.shorten(1);
  EXPECT_EQ(data->train.values, "ab");
  EXPECT_EQ(data->train.labels.size(), 1U);
}

TEST(ReadDataSet, SaysWhatIsMissingOrDoesNotBelongTogether) {
  const TemporaryDirectory directory;
  const auto empty = read_data_set(directory.path());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::not_found);
  EXPECT_THAT(empty.error().hint, HasSubstr("dataset-fashion-mnist"));

  write_file(directory / "train-images-idx3-ubyte", idx_of({2, 1, 1}, "ab"));
  write_file(directory / "train-labels-idx1-ubyte", idx_of({1}, "\0"s));
  EXPECT_THAT(read_data_set(directory.path()),
              FailsWith(ErrorKind::corrupt, "'" + (directory / "train") + "': 2 images and 1 labels"));
  write_file(directory / "train-labels-idx1-ubyte", idx_of({2, 1}, "\0\0"s));
  EXPECT_THAT(
      read_data_set(directory.path()),
      FailsWith(ErrorKind::corrupt, "'" + (directory / "train") + "': images need 3 dimensions and labels 1"));
  write_file(directory / "train-labels-idx1-ubyte", idx_of({2}, "\0\0"s));
  write_file(directory / "t10k-images-idx3-ubyte", idx_of({1, 1, 2}, "ab"));
  write_file(directory / "t10k-labels-idx1-ubyte", idx_of({1}, "\0"s));
  EXPECT_THAT(read_data_set(directory.path()),
              FailsWith(ErrorKind::corrupt,
                        "'" + directory.path() + "': training and test images do not belong together"));
}

}  // namespace
}  // namespace pinstep::worker
