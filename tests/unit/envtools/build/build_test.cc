#include "envtools/build/build.h"

#include <gtest/gtest.h>

namespace pinstep {
namespace {

TEST(BuildJob, ReadsAsWritten) {
  BuildJob job;
  job.lock_text = "version: 1\n\"\xC3\xA4\"";
  job.lock_path = "/x/environment-lock.yml";
  job.platform = "linux-64";
  job.name = "train";
  job.options = {false};
  job.store = "/store";
  job.stores = {"/site", "/more"};
  job.trusted_uids = {0, 4711};
  job.channel_urls = {{"https://example.org/c", {"file:///channel", "https://m.example.org/c"}}};
  job.access = {
      {{"https://m.example.org", "https://_u:p@m.example.org"}}, {{"https", "http://p:1"}}, "/ca.pem"};
  job.fetch_program = "/usr/libexec/pinstep/pinstep-fetch";
  job.jobs = 3;
  job.quiet = job.verbose = job.progress = true;
  const std::string text = format_build_job(job);
  const auto read = parse_build_job(text);
  ASSERT_TRUE(read) << read.error().cause;
  EXPECT_EQ(format_build_job(*read), text);
  EXPECT_EQ(read->lock_text, job.lock_text);
  EXPECT_EQ(read->options, job.options);
  EXPECT_EQ(read->channel_urls, job.channel_urls);
  EXPECT_EQ(read->access, job.access);
}

TEST(BuildJob, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{}", "{\"lock_text\": 1}"}) {
    const auto read = parse_build_job(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::invalid);
  }
}

TEST(BuildResult, ReadsAsWritten) {
  const BuildResult result{"id", "/prefix", true, "hash", 24, 3, 1000, {"a note"}};
  const auto read = parse_build_result(format_build_result(result));
  ASSERT_TRUE(read) << read.error().cause;
  EXPECT_EQ(format_build_result(*read), format_build_result(result));
}

TEST(BuildResult, CarriesTheErrorOfTheBuild) {
  const auto read = parse_build_result(format_build_result(fail(ErrorKind::no_space, "the disk is full", "x")));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::no_space);
  EXPECT_EQ(read.error().cause, "the disk is full");
}

TEST(Build, OfAProgramThatSaysNothingIsAnError) {
  const auto result = build("/bin/true", {}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace pinstep
