#include "envtools/doctor/finding.h"

#include <gtest/gtest.h>

#include <functional>

namespace pinstep::doctor {
namespace {

PluginFacts plugin(const std::string& path = "/p/pinstep.so", const std::string& word = "optional") {
  return {{word, path, {}, "/etc/slurm/plugstack.conf:1"}, "digest", 0x160508, ""};
}

StoreFacts store() { return {"/s", true, true, 2, "names", ""}; }

// A host on which nothing is wrong.
Facts sound(const std::string& host = "login") {
  Facts facts;
  facts.host = host;
  facts.pinstep = "1.0.0";
  facts.machine = "x86_64";
  facts.libc = "2.36";
  facts.slurm = "22.05.8";
  facts.settings = "-";
  facts.plugins = {plugin()};
  facts.stores = {store()};
  return facts;
}

// "LEVEL CHECK: TEXT" of what is not as it should be.
std::vector<std::string> shown(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    if (finding.level != Level::ok)
      lines.push_back(std::string(to_string(finding.level)) + " " + finding.check + ": " + finding.text);
  return lines;
}

struct Case {
  std::function<void(Facts&)> change;
  std::vector<std::string> expected;
};

TEST(Judge, AHostByItself) {
  const std::vector<Case> cases{
      {[](Facts&) {}, {}},
      {[](Facts& f) { f.switched_off = true; }, {"warning disable: /etc/pinstep/disable switches pinstep off"}},
      {[](Facts& f) {
         f.errors = {{ErrorKind::invalid, "c:1: no setting", "h"}};
       },
       {"error settings: c:1: no setting"}},
      {[](Facts& f) { f.plugins.clear(); },
       {"warning plugstack: plugstack.conf has no line for pinstep, so srun and sbatch have no --env-spec"}},
      {[](Facts& f) { f.plugins.push_back(plugin()); },
       {"error plugstack: plugstack.conf has 2 lines for pinstep"}},
      {[](Facts& f) { f.plugins = {plugin("/p/pinstep.so", "required")}; },
       {"error plugstack: /etc/slurm/plugstack.conf:1: the word is 'required'"}},
      {[](Facts& f) { f.plugins = {plugin("pinstep.so")}; },
       {"error plugin: /etc/slurm/plugstack.conf:1: the path 'pinstep.so' is not absolute"}},
      {[](Facts& f) { f.plugins[0].digest = "", f.plugins[0].trouble = "cannot open it"; },
       {"error plugin: cannot open it"}},
      {[](Facts& f) { f.plugins[0].version = 0, f.plugins[0].trouble = "it is empty"; },
       {"error plugin: '/p/pinstep.so' is no Slurm plugin: it is empty"}},
      {[](Facts& f) { f.plugins[0].version = 0x180b03; },
       {"error plugin: '/p/pinstep.so' is of Slurm 24.11 and this is Slurm 22.05.8, which does not load it"}},
      {[](Facts& f) { f.plugins[0].version = 0x160500; }, {}},  // another version of the series
      {[](Facts& f) { f.slurm = "", f.plugins[0].version = 0x180b03; }, {}},
      {[](Facts& f) { f.stores[0].trouble = "cannot be read"; }, {"error store: '/s': cannot be read"}},
      {[](Facts& f) { f.stores[0].exists = false; }, {}},
      {[](Facts& f) { f.stores[0].exists = f.stores[0].writable = false; },
       {"error store: '/s' is not there and you cannot make it"}},
      {[](Facts& f) { f.stores[0].writable = false; },
       {"warning store: '/s' cannot be written by you, so nothing can be built"}},
      {[](Facts& f) {
         f.stores.push_back({"/site", true, false, 9, "others", ""});
       },
       {}},
      {[](Facts& f) { f.stores[0].path = "/" + std::string(70, 'x'); },
       {"warning store: prefixes in '/" + std::string(70, 'x') + "' have paths of more than 80 bytes"}},
  };
  for (const Case& c : cases) {
    Facts facts = sound();
    c.change(facts);
    EXPECT_EQ(shown(judge(facts, true)), c.expected);
  }
}

TEST(Judge, WithoutSlurmNobodyAsksForThePlugin) {
  Facts facts = sound();
  facts.plugins.clear();
  EXPECT_EQ(shown(judge(facts, false)), std::vector<std::string>{});
}

TEST(Judge, PortsOfMpiParams) {
  const struct {
    const char* params;
    std::vector<std::string> expected;
  } cases[] = {
      {"ports=20000-20999", {}},
      {"other,ports=32000-32767", {}},
      {"",
       {"warning mpi-params: MpiParams reserves no ports, so steps share what pinstep derives or srun holds"}},
      {"ports=60000-62000",
       {"warning mpi-params: the ports 60000-62000 of MpiParams overlap the ephemeral range 32768-60999: any "
        "program's connection may take one"}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(shown(judge(SlurmConfig{{"MpiParams", c.params}}, {32768, 60999})), c.expected) << c.params;
}

TEST(Judge, ATaskPrologThatIsMissing) {
  const SlurmConfig config{{"MpiParams", "ports=20000-20999"}, {"TaskProlog", "/no/such/prolog"}};
  EXPECT_EQ(shown(judge(config, {32768, 60999})),
            std::vector<std::string>{
                "warning task-prolog: TaskProlog '/no/such/prolog' is not a program on this host"});
}

TEST(Compare, ANodeWithThisHost) {
  const std::vector<Case> cases{
      {[](Facts&) {}, {}},
      {[](Facts& f) { f.pinstep = "0.9.0"; }, {"error pinstep: pinstep is 0.9.0, here 1.0.0"}},
      {[](Facts& f) { f.machine = "aarch64"; }, {"error machine: the machine is aarch64, here x86_64"}},
      {[](Facts& f) { f.slurm = "22.05.3"; }, {}},
      {[](Facts& f) { f.libc = "2.4"; }, {"warning libc: glibc is 2.4, here 2.36"}},
      {[](Facts& f) { f.libc = "2.40"; }, {}},
      {[](Facts& f) { f.settings = "digest"; },
       {"error settings: /etc/pinstep/pinstep.conf is there, and here there is none"}},
      {[](Facts& f) { f.switched_off = true; }, {"warning disable: /etc/pinstep/disable switches pinstep off"}},
      {[](Facts& f) { f.plugins.clear(); },
       {"error plugstack: plugstack.conf has no line for pinstep, and here it has: jobs run bare"}},
      {[](Facts& f) { f.plugins[0].digest = "other"; },
       {"warning plugin: '/p/pinstep.so' is another file than here"}},
      {[](Facts& f) { f.slurm = "24.11.3"; },
       {"warning slurm: Slurm is 24.11, here 22.05",
        "error plugin: '/p/pinstep.so' is of Slurm 22.05 and this is Slurm 24.11.3, which does not load it"}},
      {[](Facts& f) { f.stores[0].exists = false; }, {"error store: '/s' is not there"}},
      {[](Facts& f) { f.stores[0].environments = "others", f.stores[0].count = 1; },
       {"error store: '/s' has 1 environment there, other than here"}},
      {[](Facts& f) { f.stores[0].path = "/t"; }, {"error store: '/s' is none of the stores there"}},
  };
  for (const Case& c : cases) {
    Facts node = sound("n1");
    c.change(node);
    const auto findings = compare(sound(), node);
    EXPECT_EQ(shown(findings), c.expected);
    for (const Finding& finding : findings) EXPECT_EQ(finding.nodes, std::vector<std::string>{"n1"});
  }
}

TEST(Merge, NodesWithTheSameFindingShareALine) {
  const auto finding = [](const char* text, std::vector<std::string> nodes) {
    return Finding{Level::error, "check", text, "remedy", std::move(nodes)};
  };
  EXPECT_EQ(merge({finding("a", {"n0"}), finding("b", {"n0"}), finding("a", {"n1"}), finding("a", {})}),
            (std::vector<Finding>{finding("a", {"n0", "n1"}), finding("b", {"n0"}), finding("a", {})}));
}

TEST(Facts, TravelAsJson) {
  Facts facts = sound("n1");
  facts.switched_off = true;
  facts.errors = {{ErrorKind::invalid, "cause", "hint"}};
  const std::string text = dump_json(json_of(facts));
  const auto read = parse_facts(text);
  ASSERT_TRUE(read) << read.error().cause;
  EXPECT_EQ(dump_json(json_of(*read)), text);
}

TEST(Facts, WhatIsNoneIsRefusedOrLeftOut) {
  for (const char* text : {"", "pinstep", "[]", "\"x\"", "{"}) EXPECT_FALSE(parse_facts(text)) << text;
  const auto read =
      parse_facts(R"({"host": 3, "stores": [7, {"path": []}], "plugins": {}, "switched_off": "yes"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->host, "");
  EXPECT_EQ(read->stores.size(), 1u);
  EXPECT_FALSE(read->switched_off);
}

TEST(Slurm, SeriesOfAVersion) {
  EXPECT_EQ(series_of("22.05.8"), "22.05");
  EXPECT_EQ(series_of("24.11.0-0rc1"), "24.11");
  EXPECT_EQ(series_of("22"), "22");
  EXPECT_EQ(series_of(""), "");
  EXPECT_EQ(series_of(0x160508u), "22.05");
  EXPECT_EQ(series_of(0x180b03u), "24.11");
}

TEST(Slurm, ConfigurationIsReadAsScontrolPrintsIt) {
  const SlurmConfig config = parse_config(
      "Configuration data as of 2026-11-30T18:00:00\n"
      "MpiParams               = ports=20000-20999\n"
      "PlugStackConfig         = /etc/slurm/plugstack.conf\n"
      "TaskProlog              = (null)\n"
      "\n"
      "Slurmctld(primary) at c0ctl is UP\n");
  EXPECT_EQ(config, (SlurmConfig{{"MpiParams", "ports=20000-20999"},
                                 {"PlugStackConfig", "/etc/slurm/plugstack.conf"}}));
}

TEST(Slurm, ReservedPorts) {
  EXPECT_EQ(reserved_ports("ports=20000-20999"), (PortRange{20000, 20999}));
  EXPECT_EQ(reserved_ports("a=1;ports=1-2;b"), (PortRange{1, 2}));
  for (const char* none : {"", "ports=", "ports=5", "ports=9-8", "ports=a-b", "disable_slurm_hydra_bootstrap"})
    EXPECT_EQ(reserved_ports(none), PortRange{}) << none;
}

}  // namespace
}  // namespace pinstep::doctor
