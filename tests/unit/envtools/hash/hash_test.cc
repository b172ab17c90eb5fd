#include "envtools/hash/hash.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(Hasher, GivesTheDigestsOfTheStandards) {  // FIPS 180-2 B.1, RFC 1321 A.5
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Hasher pieces;
  pieces.update("a");
  pieces.update("");
  pieces.update("bc");
  EXPECT_EQ(pieces.hex(), sha256_hex("abc"));
  Hasher md5(Digest::md5);
  md5.update("abc");
  EXPECT_EQ(md5.hex(), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(HashFile, TellsWhichFileIsNotThere) {
  const auto missing = hash_file("/nowhere/at/all");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_NE(missing.error().cause.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace pinstep
