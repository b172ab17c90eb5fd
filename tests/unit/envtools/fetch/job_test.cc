#include "envtools/fetch/fetch.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Random;

TEST(FetchJob, IsTheSameAfterItWasWrittenAndRead) {
  FetchJob job;
  job.connections = 3;
  job.connect_seconds = 4;
  job.stall_seconds = 5;
  job.proxies = {{"https", "http://_u:p@proxy:3128"}};
  job.certificates = "/ca.pem";
  job.files.push_back(
      {{"https://example.org/a b.conda", "file:///x"}, std::string(64, 'a'), "", 123, "/c/\"a\".conda"});
  job.files.push_back({{"http://localhost/y"}, "", std::string(32, '0'), 0, "/y"});
  const auto read = parse_fetch_job(format_fetch_job(job));
  ASSERT_TRUE(read);
  EXPECT_EQ(format_fetch_job(*read), format_fetch_job(job));
  EXPECT_EQ(read->files[0].urls, job.files[0].urls);
  EXPECT_EQ(read->files[0].size, 123U);
}

TEST(FetchJob, RefusesWhatCouldOnlyBeAMistake) {
  const auto with = [](const std::string& file) { return parse_fetch_job(R"({"files": [)" + file + "]}"); };
  EXPECT_THAT(with(R"({"urls": [], "path": "/x"})"),
              FailsWith(ErrorKind::invalid, "the fetch job has a file without 'urls'"));
  EXPECT_THAT(with(R"({"urls": ["ftp://example.org"], "path": "/x"})"),
              FailsWith(ErrorKind::invalid, "the fetch job has a URL that is neither http, https nor file"));
  EXPECT_THAT(with(R"({"urls": ["file:///x"], "path": "/x", "sha256": "abc"})"),
              FailsWith(ErrorKind::invalid, "the fetch job has a bad sha256 for '/x'"));
  EXPECT_THAT(with(R"({"urls": ["file:///x"], "path": "/x"}, {"urls": ["file:///y"], "path": "/x"})"),
              FailsWith(ErrorKind::invalid, "the fetch job has two files for '/x'"));
}

TEST(FetchEvent, IsTheSameAfterItWasWrittenAndRead) {
  using Kind = FetchEvent::Kind;
  for (const FetchEvent& event :
       {FetchEvent{Kind::progress, 7, 1 << 20, "", {ErrorKind::os, "", ""}},
        FetchEvent{Kind::done, 0, 5, std::string(64, 'b'), {ErrorKind::os, "", ""}},
        FetchEvent{Kind::failed, 2, 0, "", {ErrorKind::no_space, "a \"cause\"\n", "a hint"}}}) {
    const std::string line = format_fetch_event(event);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto read = parse_fetch_event(line);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, event.kind);
    EXPECT_EQ(read->error.kind, event.error.kind);
    EXPECT_EQ(format_fetch_event(*read), line);
  }
}

TEST(FetchEvent, AnyTextIsReadOrRefused) {
  Random random;
  for (int i = 0; i < 2000; ++i) {
    parse_fetch_event(random.bytes(0, 40));
    parse_fetch_job(random.text("{}[]\":,files urls0", 0, 40));
  }
}

}  // namespace
}  // namespace pinstep
