#include "envtools/channel/access.h"

#include "envtools/channel/access_json.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

ChannelConfig config(const char* condarc, Environment::Variables variables = {}) {
  ChannelConfig config = built_in_channel_config();
  config.environment = Environment(std::move(variables));
  EXPECT_THAT(merge_condarc(config, condarc, "rc"), Succeeds());
  return config;
}

TEST(WithCredentials, OpensWhatLiesBelowTheLongestOfThem) {
  Credentials credentials;
  for (const char* url : {"https://_u:p@h.example.org/a", "https://h.example.org/t/TOKEN-1/a/b/",
                          "https://_x@other.example.org:8080", "https://plain.example.org/c", "/srv/t/x"})
    note_credentials(credentials, url);
  EXPECT_EQ(credentials.size(), 3u);
  for (const auto& [url, open] : std::map<std::string, std::string>{
           {"https://h.example.org/a", "https://_u:p@h.example.org/a"},
           {"https://h.example.org/a/c/x.conda", "https://_u:p@h.example.org/a/c/x.conda"},
           {"https://h.example.org/a/b/x.conda", "https://h.example.org/t/TOKEN-1/a/b/x.conda"},
           {"https://h.example.org/ab/x", "https://h.example.org/ab/x"},
           {"http://h.example.org/a", "http://h.example.org/a"},
           {"https://other.example.org:8080/y", "https://_x@other.example.org:8080/y"},
           {"https://other.example.org/y", "https://other.example.org/y"},
           {"https://_z:q@h.example.org/a", "https://_z:q@h.example.org/a"},
           {"file:///srv/c", "file:///srv/c"},
       })
    EXPECT_EQ(with_credentials(url, credentials), open);
}

TEST(WithCredentials, IsUndoneByWithoutCredentials) {
  Credentials credentials;
  note_credentials(credentials, "https://_u:p@h.example.org/t/T/a");
  const std::string url = "https://h.example.org/a/linux-64/x.conda";
  EXPECT_EQ(without_credentials(with_credentials(url, credentials)), url);
}

TEST(CredentialsOf, AreThoseOfEveryUrlInTheConfiguration) {
  ChannelConfig some = config(
      "channel_alias: https://_u:1@alias.example.org\n"
      "channels: ['https://_u:2@c.example.org/x', conda-forge]\n"
      "default_channels: ['https://_u:3@d.example.org/x']\n"
      "custom_channels: {m: 'https://_u:$PW@m.example.org/t/T/base'}\n"
      "mirrored_channels: {n: ['https://n.example.org', 'https://_u:5@n2.example.org/n']}\n",
      {{"PW", "4"}});
  some.named = {{"p", "https://_u:6@p.example.org"}};
  EXPECT_THAT(credentials_of(some),
              ElementsAre(Pair("https://alias.example.org", "https://_u:1@alias.example.org"),
                          Pair("https://c.example.org/x", "https://_u:2@c.example.org/x"),
                          Pair("https://d.example.org/x", "https://_u:3@d.example.org/x"),
                          Pair("https://m.example.org/base", "https://_u:4@m.example.org/t/T/base"),
                          Pair("https://n2.example.org/n", "https://_u:5@n2.example.org/n"),
                          Pair("https://p.example.org", "https://_u:6@p.example.org")));
}

TEST(IndexCredentials, HoldForTheHostOfAnIndex) {
  TemporaryDirectory home;
  write_file(home / ".config/pip/pip.conf",
             "[global]\nindex-url = https://_u:1@a.example.org/simple\nextra-index-url =\n"
             "    https://_u:2@b.example.org:8443/x\n    https://plain.example.org/y\n# "
             "https://_u:9@no.example.org\n");
  Credentials credentials;
  add_index_credentials(
      credentials, Environment({{"HOME", home.path()},
                                {"UV_INDEX", "own=https://_u:3@c.example.org/s https://_u:4@d.example.org"},
                                {"PIP_FIND_LINKS", "/srv/wheels"}}));
  EXPECT_THAT(credentials, ElementsAre(Pair("https://a.example.org", "https://_u:1@a.example.org"),
                                       Pair("https://b.example.org:8443", "https://_u:2@b.example.org:8443"),
                                       Pair("https://c.example.org", "https://_u:3@c.example.org"),
                                       Pair("https://d.example.org", "https://_u:4@d.example.org")));
}

TEST(AccessOf, LeavesProxiesAndCertificatesToTheEnvironmentWhereThatSaysSo) {
  const char* const text =
      "proxy_servers: {http: 'http://_u:p@p:1', https: 'http://p:2'}\nssl_verify: /c.pem\n";
  const Access plain = access_of(config(text));
  EXPECT_THAT(plain.proxies, ElementsAre(Pair("http", "http://_u:p@p:1"), Pair("https", "http://p:2")));
  EXPECT_EQ(plain.certificates, "/c.pem");
  EXPECT_THAT(access_of(config(text, {{"HTTPS_PROXY", "x"}})).proxies,
              ElementsAre(Pair("http", "http://_u:p@p:1")));
  EXPECT_THAT(access_of(config(text, {{"all_proxy", "x"}})).proxies, IsEmpty());
  EXPECT_EQ(access_of(config(text, {{"SSL_CERT_FILE", "/own.pem"}})).certificates, "");
}

TEST(Access, ReadsAsWritten) {
  const Access access{{{"https://h", "https://_u:p@h"}}, {{"https", "http://p"}}, "/c"};
  EXPECT_EQ(access_of(json_of(access)), access);
  EXPECT_EQ(access_of(Json::array()), Access());
  EXPECT_EQ(access_of(Json{{"credentials", 3}, {"proxies", {{"http", 1}}}}), Access());
}

}  // namespace
}  // namespace pinstep
