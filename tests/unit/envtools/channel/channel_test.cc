#include "envtools/channel/channel.h"

#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {

inline void PrintTo(const Channel& channel, std::ostream* out) { *out << channel.name << " = " << channel.url; }

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;

// A configuration on made-up hosts.
ChannelConfig config(const char* condarc = "") {
  ChannelConfig config = built_in_channel_config();
  config.alias = "https://alias.example.org/";
  config.custom = {{"pkgs/main", "https://alias.example.org"}, {"pkgs/r", "https://alias.example.org"}};
  config.environment = Environment({{"HOME", "/home/u"}, {"MIRROR", "mirror.example.org"}, {"EMPTY", ""}});
  EXPECT_THAT(merge_condarc(config, condarc, "rc"), Succeeds());
  return config;
}

std::string expanded(std::string_view entry, const ChannelConfig& config) {
  const auto channels = expand_channel(entry, config);
  if (!channels)
    return channels.error().cause + (channels.error().hint.empty() ? "" : " | " + channels.error().hint);
  std::string text;
  for (const Channel& channel : *channels)
    text +=
        (text.empty() ? "" : ", ") + channel.name + (channel.name == channel.url ? "" : " = " + channel.url);
  return text;
}

TEST(ExpandChannel, FollowsTheAliasForAnUnknownName) {
  for (const auto& [entry, channel] : std::map<std::string, std::string>{
           {"conda-forge", "conda-forge = https://alias.example.org/conda-forge"},
           {" conda-forge/ ", "conda-forge = https://alias.example.org/conda-forge"},
           {"conda-forge/linux-64", "conda-forge = https://alias.example.org/conda-forge"},
           {"a/label/dev", "a/label/dev = https://alias.example.org/a/label/dev"},
           {"nvidia/label/cuda-11.8.0",
            "nvidia/label/cuda-11.8.0 = https://alias.example.org/nvidia/label/cuda-11.8.0"},
       })
    EXPECT_EQ(expanded(entry, config()), channel) << entry;
}

TEST(ExpandChannel, TakesUrlsAndPathsAndNamesWhatLiesUnderTheAlias) {
  for (const auto& [entry, channel] : std::map<std::string, std::string>{
           {"https://h.example.org/c/", "https://h.example.org/c"},
           {"https://h.example.org/c/linux-64", "https://h.example.org/c"},
           {"https://h.example.org/c/noarch/", "https://h.example.org/c"},
           {"https://_u:p@h.example.org/t/TOKEN-1/c", "https://h.example.org/c"},
           {"https://$MIRROR/c", "https://mirror.example.org/c"},
           {"https://alias.example.org/conda-forge", "conda-forge = https://alias.example.org/conda-forge"},
           {"https://alias.example.org/a/label/b/", "a/label/b = https://alias.example.org/a/label/b"},
           {"https://alias.example.org", "https://alias.example.org"},
           {"/srv/c/", "file:///srv/c"},
           {"/srv/a b", "file:///srv/a%20b"},
           {"~/c", "file:///home/u/c"},
           {"${HOME}/c", "file:///home/u/c"},
           {"file:///srv/c", "file:///srv/c"},
       })
    EXPECT_EQ(expanded(entry, config()), channel) << entry;
}

TEST(ExpandChannel, LooksInPinstepsNamesThenInCustomChannels) {
  ChannelConfig both =
      config("custom_channels: {conda-forge: 'https://custom.example.org/x', deep/er: /srv}\n");
  EXPECT_EQ(expanded("conda-forge", both), "conda-forge = https://custom.example.org/x/conda-forge");
  EXPECT_EQ(expanded("conda-forge/label/dev", both),
            "conda-forge/label/dev = https://custom.example.org/x/conda-forge/label/dev");
  EXPECT_EQ(expanded("deep/er", both), "deep/er = file:///srv/deep/er");
  EXPECT_EQ(expanded("deep", both), "deep = https://alias.example.org/deep");
  both.named = {{"conda-forge", "https://$MIRROR/cf/"}, {"local", "~/c"}};
  EXPECT_EQ(expanded("conda-forge", both), "conda-forge = https://mirror.example.org/cf");
  EXPECT_EQ(expanded("conda-forge/label/dev", both),
            "conda-forge/label/dev = https://mirror.example.org/cf/label/dev");
  EXPECT_EQ(expanded("local", both), "local = file:///home/u/c");
}

TEST(ExpandChannel, GivesAUrlOnlyANameThatLeadsBackToIt) {
  ChannelConfig named = config("custom_channels: {m: 'https://custom.example.org'}\n");
  named.named = {{"conda-forge", "https://mirror.example.org/cf"}};
  EXPECT_EQ(expanded("https://mirror.example.org/cf/label/x", named),
            "conda-forge/label/x = https://mirror.example.org/cf/label/x");
  EXPECT_EQ(expanded("https://custom.example.org/m", named), "m = https://custom.example.org/m");
  EXPECT_EQ(expanded("https://custom.example.org/other", named), "https://custom.example.org/other");
  EXPECT_EQ(expanded("https://alias.example.org/conda-forge", named), "https://alias.example.org/conda-forge");
}

TEST(ExpandChannel, MakesSeveralOfDefaults) {
  EXPECT_EQ(expanded("defaults", config()),
            "pkgs/main = https://alias.example.org/pkgs/main, pkgs/r = https://alias.example.org/pkgs/r");
  EXPECT_EQ(expanded("defaults", config("default_channels: [/srv/main]\n")), "file:///srv/main");
  ChannelConfig named = config();
  named.named = {{"defaults", "/srv/all"}};
  EXPECT_EQ(expanded("defaults", named), "defaults = file:///srv/all");
  EXPECT_EQ(expanded("defaults/", config()), expanded("defaults", config()));
  EXPECT_EQ(expanded("defaults/linux-64", config()), expanded("defaults", config()));
}

TEST(ExpandChannel, MakesSeveralOfTheNamesOfMultichannels) {
  const ChannelConfig some =
      config("custom_multichannels:\n  ours: [conda-forge, https://h.example.org/x]\n  defaults: [/srv/d]\n");
  EXPECT_EQ(expanded("ours", some),
            "conda-forge = https://alias.example.org/conda-forge, https://h.example.org/x");
  EXPECT_EQ(expanded("defaults", some), "file:///srv/d");
}

TEST(ExpandChannel, KnowsAMirrorByTheEndOfItsUrl) {
  for (const auto& [entry, channel] : std::map<std::string, std::string>{
           {"https://m.example.org/anaconda/pkgs/main", "pkgs/main = https://m.example.org/anaconda/pkgs/main"},
           {"https://_u:p@m.example.org/x/pkgs/r/linux-64/", "pkgs/r = https://m.example.org/x/pkgs/r"},
           {"https://m.example.org/anaconda/cloud/conda-forge",
            "conda-forge = https://m.example.org/anaconda/cloud/conda-forge"},
           {"https://m.example.org/anaconda/cloud/a/label/dev",
            "a/label/dev = https://m.example.org/anaconda/cloud/a/label/dev"},
           {"file:///srv/anaconda/pkgs/free", "pkgs/free = file:///srv/anaconda/pkgs/free"},
           {"https://m.example.org/anaconda/cloud/", "https://m.example.org/anaconda/cloud"},
           {"https://m.example.org/anaconda/cloud/defaults", "https://m.example.org/anaconda/cloud/defaults"},
           {"https://m.example.org/mypkgs/main", "https://m.example.org/mypkgs/main"},
           {"https://m.example.org/pkgs/mains", "https://m.example.org/pkgs/mains"},
       })
    EXPECT_EQ(expanded(entry, config()), channel) << entry;
  // What is configured counts more than what a URL looks like.
  EXPECT_EQ(expanded("https://m.example.org/pkgs/main",
                     config("custom_channels: {pkgs/main: 'https://m.example.org'}\n")),
            "pkgs/main = https://m.example.org/pkgs/main");
}

TEST(ExpandChannel, TakesAllMirrorsOfAName) {
  const ChannelConfig some = config(
      "mirrored_channels:\n  conda-forge: [https://a.example.org/cf, https://b.example.org/x/]\n"
      "custom_channels: {conda-forge: https://c.example.org}\n");
  const Channel channel{
      "conda-forge/label/dev", "https://a.example.org/cf/label/dev", {"https://b.example.org/x/label/dev"}};
  EXPECT_THAT(expand_channel("conda-forge/label/dev", some), Holds(ElementsAre(channel)));
  EXPECT_THAT(expand_channel("https://b.example.org/x/label/dev", some), Holds(ElementsAre(channel)));
}

TEST(ExpandChannel, FollowsAnAliasThatWasMigrated) {
  const ChannelConfig some = config("migrated_channel_aliases: ['https://old.example.org/conda']\n");
  EXPECT_EQ(expanded("https://old.example.org/conda/c", some), "c = https://alias.example.org/c");
}

TEST(ExpandChannel, KeepsToWhatASiteAllows) {
  const ChannelConfig allowing = config("allowlist_channels: [conda-forge, 'https://h.example.org/c']\n");
  EXPECT_THAT(expand_channel("conda-forge", allowing), Succeeds());
  EXPECT_THAT(expand_channel("https://h.example.org/c/", allowing), Succeeds());
  EXPECT_EQ(expanded("other", allowing),
            "channel 'other' is not one of allowlist_channels | the .condarc of this place has that list");
  const ChannelConfig denying = config("denylist_channels: [defaults]\n");
  EXPECT_THAT(expand_channel("other", denying), Succeeds());
  EXPECT_EQ(
      expanded("https://alias.example.org/pkgs/r", denying),
      "channel 'pkgs/r' is not allowed here: denylist_channels | the .condarc of this place has that list");
}

TEST(ExpandChannel, LeavesAUrlWhoseNameWouldStandForSeveralChannelsWithoutOne) {
  EXPECT_EQ(expanded("https://alias.example.org/defaults", config()), "https://alias.example.org/defaults");
}

TEST(ExpandChannel, RefusesWhatIsNoChannel) {
  for (const auto& [entry, cause] : std::map<std::string, std::string>{
           {"", "'' is not the name of a channel"},
           {"a b", "'a b' is not the name of a channel"},
           {"a//b", "'a//b' is not the name of a channel"},
           {"https://h.example.org/a b",
            "'https://h.example.org/a b' is not a URL | blanks and what is not ASCII are written as %XX"},
           {"https://", "'https://' is not a whole URL"},
           {"https:///c", "'https:///c' is not a whole URL"},
           {"file://c/d", "'file://c/d' is not a whole URL"},
           {"noarch", "'noarch' is not the name of a channel"},
           {"a/t/b", "'a/t/b' is not the name of a channel"},
           {"https://h.example.org/t/", "'https://h.example.org/t' ends like a URL with a token"},
           {"a/../b", "'a/../b' is not the name of a channel"},
           {"./c", "channel './c' is a relative path | write it as an absolute path"},
           {"../c", "channel '../c' is a relative path | write it as an absolute path"},
           {"s3://b/c", "'s3://b/c' is a URL of a kind unknown here | there are https, http and file"},
           {"ftp://_u:p@h/c", "'ftp://h/c' is a URL of a kind unknown here | there are https, http and file"},
           {"$NONE/c", "'$NONE/c' needs the variable 'NONE', which is not set"},
           {"$EMPTY/c", "'$EMPTY/c' needs the variable 'EMPTY', which is not set"},
           {"/srv/$", "'/srv/$' has a '$' that no variable follows"},
           {"/srv/${HOME", "'/srv/${HOME' has a '$' that no variable follows"},
       })
    EXPECT_EQ(expanded(entry, config()), cause) << entry;
  ChannelConfig broken = config();
  broken.named = {{"c", "relative"}};
  EXPECT_EQ(expanded("c", broken), "channel 'c': 'relative' is neither a URL nor an absolute path");
}

TEST(ExpandChannel, IsTheSameForItsOwnNameAndUrl) {
  Random random;
  ChannelConfig some = config("custom_channels: {a: 'https://custom.example.org'}\n");
  some.named = {{"b", "/srv/b"}, {"a", "https://alias.example.org/x"}};
  for (int i = 0; i < 500; ++i) {
    const std::string entry =
        random.pick(std::vector<std::string>{"", "/srv/", "/srv/b/", "https://alias.example.org/",
                                             "https://custom.example.org/"}) +
        random.text("abx/", 1, 5);
    const auto channels = expand_channel(entry, some);
    if (!channels) continue;
    EXPECT_THAT(expand_channel(channels->front().name, some), Holds(*channels)) << random << shown(entry);
    EXPECT_EQ(expand_channel(channels->front().url, some).value().front().url, channels->front().url)
        << random << shown(entry);
  }
}

// ---- configuration

TEST(MergeCondarc, ReadsWhatNamesChannelsAndNothingElse) {
  const ChannelConfig some = config(
      "channels:\n  - a\n  - nodefaults\n  - https://h.example.org/c\n"
      "channel_alias: https://other.example.org\n"
      "default_channels: [x]\n"
      "custom_channels:\n  y: /srv\n"
      "show_channel_urls: true\nssl_verify: false\nproxy_servers: {http: x}\n");
  EXPECT_THAT(some.channels, ElementsAre("a", "https://h.example.org/c"));
  EXPECT_EQ(some.alias, "https://other.example.org");
  EXPECT_THAT(some.defaults, ElementsAre("x"));
  EXPECT_THAT(some.custom, Contains(Pair("y", "/srv")));
  EXPECT_THAT(some.proxies, ElementsAre(Pair("http", "x")));
  EXPECT_EQ(some.certificates, "");
  EXPECT_EQ(config("ssl_verify: ~/ca.pem\n").certificates, "~/ca.pem");
}

TEST(MergeCondarc, PutsALaterFilesListFirstAndItsKeysOver) {
  ChannelConfig some = config("channels: [a, b]\ncustom_channels: {x: /1, y: /1}\nchannel_priority: strict\n");
  ASSERT_THAT(merge_condarc(some, "channels: [c, b]\ncustom_channels: {y: /2}\n", "rc"), Succeeds());
  EXPECT_THAT(some.channels, ElementsAre("c", "b", "a"));
  EXPECT_EQ(some.custom.at("x") + some.custom.at("y"), "/1/2");
  EXPECT_EQ(some.priority, "strict");
}

TEST(MergeCondarc, LeavesWhatAnEarlierFileCallsFinal) {
  ChannelConfig some = config("channels:   #!final\n  - site\nchannel_alias: https://s.example.org  #!final\n");
  ASSERT_THAT(merge_condarc(some, "channels: [mine]\nchannel_alias: https://u.example.org\n", "rc"),
              Succeeds());
  EXPECT_THAT(some.channels, ElementsAre("site"));
  EXPECT_EQ(some.alias, "https://s.example.org");
}

TEST(MergeCondarc, KnowsThePrioritiesOldAndNew) {
  for (const auto& [text, priority] : std::map<std::string, std::string>{{"strict", "strict"},
                                                                         {"flexible", "flexible"},
                                                                         {"true", "flexible"},
                                                                         {"disabled", "disabled"},
                                                                         {"False", "disabled"}})
    EXPECT_EQ(config(("channel_priority: " + text + "\n").c_str()).priority, priority) << text;
}

TEST(MergeCondarc, SaysWhatIsWrongAndChangesNothing) {
  ChannelConfig some = config();
  for (const auto& [text, cause] : std::map<std::string, std::string>{
           {"- a\n", "rc:1: a .condarc file is made of keys"},
           {"channels: a\n", "rc:1: 'channels' is not a list"},
           {"channel_alias: https://x.example.org\nchannels:\n - [a]\n",
            "rc:3: a channel is a name, a URL or a path"},
           {"channel_alias: ''\n", "rc:1: 'channel_alias' is not a URL"},
           {"custom_channels: [a]\n", "rc:1: 'custom_channels' is not made of lines 'name: URL'"},
           {"custom_channels: {a: [b]}\n", "rc:1: 'a' is not a URL"},
           {"channel_priority: high\n", "rc:1: 'channel_priority' is neither strict, flexible nor disabled"},
           {"mirrored_channels: [a]\n", "rc:1: 'mirrored_channels' is not made of lists"},
           {"custom_multichannels: {a: b}\n", "rc:1: 'a' is not a list"},
           {"proxy_servers: http\n", "rc:1: 'proxy_servers' is not made of lines 'http: URL'"},
       }) {
    EXPECT_THAT(merge_condarc(some, text, "rc"), FailsWith(ErrorKind::invalid, cause)) << text;
    EXPECT_EQ(some.alias, "https://alias.example.org/") << text;
  }
  EXPECT_THAT(merge_condarc(some, "", "rc"), Succeeds());
}

TEST(LoadChannelConfig, ReadsTheSitesFilesThenTheUsersThenTheNamedOne) {
  TemporaryDirectory root;
  const auto put = [&](const std::string& path, const std::string& name) {
    testing_support::write_file(root.path() + path,
                                "channels: [" + name + "]\nchannel_alias: https://" + name + "\n");
  };
  std::vector<std::string> order;
  for (const auto& [path, name] :
       std::vector<std::pair<std::string, std::string>>{{"/etc/conda/.condarc", "one"},
                                                        {"/etc/conda/condarc.d/20.yml", "three"},
                                                        {"/etc/conda/condarc.d/10.yaml", "two"},
                                                        {"/etc/conda/condarc.d/30.txt", "never"},
                                                        {"/opt/conda/.condarc", "four"},
                                                        {"/x/conda/condarc", "five"},
                                                        {"/h/.config/conda/.condarc", "six"},
                                                        {"/h/.condarc", "seven"},
                                                        {"/own", "eight"}})
    put(path, name);
  const Environment environment({{"HOME", "/h"},
                                 {"XDG_CONFIG_HOME", "/x"},
                                 {"CONDA_EXE", "/opt/conda/bin/conda"},
                                 {"CONDA_PREFIX", "/opt/conda/envs/active"},
                                 {"CONDARC", "/own"}});
  put("/opt/conda/envs/active/.condarc", "never");
  const auto loaded = load_channel_config(environment, {}, root.path());
  ASSERT_THAT(loaded, Succeeds());
  EXPECT_THAT(loaded->channels, ElementsAre("eight", "seven", "six", "five", "four", "three", "two", "one"));
  EXPECT_EQ(loaded->alias, "https://eight");
}

TEST(LoadChannelConfig, PutsTheFileOfCondarcOverTheOthersAndWorksWithoutOne) {
  TemporaryDirectory directory;
  testing_support::write_file(directory / ".condarc", "channels: [home]\n");
  testing_support::write_file(directory / "other", "channels: [other]\n");
  const auto channels = [&](Environment::Variables variables) {
    return load_channel_config(Environment(std::move(variables)), {{"n", "/srv"}}).value();
  };
  EXPECT_THAT(channels({{"HOME", directory.path()}}).channels, ElementsAre("home"));
  EXPECT_THAT(channels({{"HOME", directory.path()}, {"CONDARC", directory / "other"}}).channels,
              ElementsAre("other", "home"));
  EXPECT_TRUE(channels({{"CONDARC", directory / "none"}}).channels.empty());
  EXPECT_EQ(channels({}).named.at("n"), "/srv");
  EXPECT_FALSE(channels({}).alias.empty());
  testing_support::write_file(directory / "other", "channels: x\n");
  EXPECT_THAT(load_channel_config(Environment({{"CONDARC", directory / "other"}}), {}),
              FailsWith(ErrorKind::invalid, directory / "other" + ":1: 'channels' is not a list"));
}

TEST(LoadChannelConfig, KnowsCondasDocumentedDefaults) {
  const ChannelConfig built_in = built_in_channel_config();
  const auto defaults = expand_channel("defaults", built_in);
  ASSERT_THAT(defaults, Succeeds());
  ASSERT_EQ(defaults->size(), 2u);
  EXPECT_EQ(defaults->front().name, "pkgs/main");
  EXPECT_EQ(defaults->back().name, "pkgs/r");
  for (const Channel& channel : *defaults)
    EXPECT_THAT(expand_channel(channel.url, built_in), Holds(ElementsAre(channel)));
  const auto forge = expand_channel("conda-forge", built_in);
  EXPECT_THAT(expand_channel(forge.value().front().url + "/linux-64/", built_in), Holds(forge.value()));
}

TEST(LoadChannelConfig, TakesTheMirrorOfTheTeachingArticles) {
  const std::string path = testing_support::testdata("conda/environments/teaching/mirror.condarc");
  if (path.empty()) GTEST_SKIP() << "no test data: conda/environments";
  const auto mirror = load_channel_config(Environment({{"CONDARC", path}}), {});
  ASSERT_THAT(mirror, Succeeds());
  EXPECT_EQ(mirror->channels.size(), 3u);
  for (const std::string& channel : mirror->channels) EXPECT_THAT(expand_channel(channel, *mirror), Succeeds());
}

// ---- URLs of packages

TEST(ChannelOf, FindsTheChannelThatAPackageLiesIn) {
  const std::vector<Channel> channels{{"a", "https://h.example.org/a"},
                                      {"a/label/b", "https://h.example.org/a/label/b"}};
  EXPECT_EQ(channel_of("https://_u:p@h.example.org/a/linux-64/x-1-0.conda", channels),
            (InChannel{channels[0], "linux-64/x-1-0.conda"}));
  EXPECT_EQ(channel_of("https://h.example.org/a/label/b/noarch/x-1-0.conda", channels),
            (InChannel{channels[1], "noarch/x-1-0.conda"}));
  for (const char* url :
       {"https://h.example.org/ab/linux-64/x-1-0.conda", "https://h.example.org/a/x-1-0.conda",
        "https://h.example.org/a/label/c/linux-64/x-1-0.conda", "https://h.example.org/a/linux-64/", ""})
    EXPECT_EQ(channel_of(url, channels), std::nullopt) << url;
}

TEST(UrlsHere, AreThoseConfiguredThenTheLocksThenTheUsual) {
  const std::string usual = built_in_channel_config().alias + "/c";
  const auto urls = [](const std::string& url, const char* condarc) {
    ChannelConfig some = built_in_channel_config();
    EXPECT_THAT(merge_condarc(some, condarc, "rc"), Succeeds());
    return urls_here("c", url, some);
  };
  EXPECT_THAT(urls(usual, ""), ElementsAre(usual));
  EXPECT_THAT(urls("https://m.example.org/c", ""), ElementsAre("https://m.example.org/c", usual));
  EXPECT_THAT(urls("https://m.example.org/c", "custom_channels: {c: /srv}\n"),
              ElementsAre("file:///srv/c", "https://m.example.org/c"));
  EXPECT_THAT(urls(usual, "channel_alias: /srv\n"), ElementsAre("file:///srv/c", usual));
  EXPECT_THAT(urls("https://m.example.org/c", "channel_alias: /srv\n"),
              ElementsAre("https://m.example.org/c", "file:///srv/c"));
  EXPECT_THAT(urls("https://m.example.org/c", "mirrored_channels: {c: [/1, /2]}\n"),
              ElementsAre("file:///1", "file:///2", "https://m.example.org/c"));
}

TEST(KnownChannels, AreAllThatTheConfigurationNames) {
  ChannelConfig some = config("channels: [x, defaults]\ncustom_channels: {m: /srv}\n");
  some.named = {{"n", "/n"}, {"broken", "$NONE"}};
  EXPECT_THAT(known_channels(some), ElementsAre(Channel{"x", "https://alias.example.org/x"},
                                                Channel{"pkgs/main", "https://alias.example.org/pkgs/main"},
                                                Channel{"pkgs/r", "https://alias.example.org/pkgs/r"},
                                                Channel{"n", "file:///n"}, Channel{"m", "file:///srv/m"}));
}

TEST(WithoutCredentials, LeavesNothingSecretAndTheRestAsItIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"https://h.example.org/a?b#c", "https://h.example.org/a?b#c"},
      {"https://_u:p@h.example.org/a", "https://h.example.org/a"},
      {"https://_u@h.example.org", "https://h.example.org"},
      {"https://_u:p@q@h.example.org:80/a@b", "https://h.example.org:80/a@b"},
      {"https://h.example.org/t/ab-12_C/a/linux-64/x.conda", "https://h.example.org/a/linux-64/x.conda"},
      {"https://h.example.org/pre/t/TOKEN/a", "https://h.example.org/pre/a"},
      {"https://h.example.org/t/TOKEN", "https://h.example.org"},
      {"https://_u:p@h.example.org/t/A/t/B/c", "https://h.example.org/c"},
      {"https://h.example.org/t//c", "https://h.example.org/t//c"},
      {"https://h.example.org/t/x.conda", "https://h.example.org/t/x.conda"},
      {"git+https://_u:p@h.example.org/r.git@main", "git+https://h.example.org/r.git@main"},
      {"git+ssh://git@h.example.org/r.git", "git+ssh://git@h.example.org/r.git"},
      {"ssh://git:p@h.example.org/r.git", "ssh://git@h.example.org/r.git"},
      {"file:///srv/t/x/y", "file:///srv/t/x/y"},
      {"/srv/u:p@h", "/srv/u:p@h"},
      {"a@b", "a@b"},
      {"", ""},
  };
  for (const auto& [url, clean] : cases) EXPECT_EQ(without_credentials(url), clean);
}

TEST(WithoutCredentialsAnywhere, CleansEveryUrlOfALine) {
  const std::pair<const char*, const char*> cases[] = {
      {"--extra-index-url=https://_u:p@h/simple", "--extra-index-url=https://h/simple"},
      {"-i https://_u:p@h/s --hash=x", "-i https://h/s --hash=x"},
      {"x @ git+https://_u:p@h/r.git@main ; a < \"b\"", "x @ git+https://h/r.git@main ; a < \"b\""},
      {"https://h/t/TOKEN/a https://_u@h/b", "https://h/a https://h/b"},
      {"x==1  # a@b", "x==1  # a@b"},
      {"://", "://"},
      {"", ""},
  };
  for (const auto& [line, clean] : cases) EXPECT_EQ(without_credentials_anywhere(line), clean);
}

TEST(WithoutCredentials, TwiceIsTheSameAsOnce) {
  Random random;
  for (int i = 0; i < 3000; ++i) {
    const std::string url = (random.one_in(3) ? "" : "https://") + random.text("u:p@h/tT-?#.", 0, 20);
    const std::string clean = without_credentials(url);
    EXPECT_EQ(without_credentials(clean), clean) << random << shown(url);
  }
}

}  // namespace
}  // namespace pinstep
