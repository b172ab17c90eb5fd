// What pinstep finds on one machine: collected where doctor runs, and on each node it is asked to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/doctor/plugstack.h"
#include "envtools/json/json.h"

namespace pinstep::doctor {

struct PluginFacts {
  PluginLine line;
  std::string digest;         // sha256 of the file; empty: it cannot be read
  std::uint32_t version = 0;  // plugin_version: Slurm's version number, 0x160508 for 22.05.8
  std::string trouble;        // why there is no digest or version
};

struct StoreFacts {
  std::string path;
  bool exists = false;
  bool writable = false;     // it, or where it would be made
  std::size_t count = 0;     // environments
  std::string environments;  // digest of their names
  std::string trouble;       // why it cannot be used
};

struct Facts {
  std::string host;
  std::string pinstep;   // version
  std::string machine;   // "x86_64"
  std::string libc;      // version of the C library
  std::string slurm;     // "22.05.8"; empty: no Slurm that works
  std::string settings;  // digest of the site's pinstep.conf; "-": there is none
  bool switched_off = false;
  std::vector<PluginFacts> plugins;  // what plugstack.conf has of ours
  std::vector<StoreFacts> stores;    // in the order they are searched
  std::vector<Error> errors;         // settings, plugstack.conf
};

// `plugstack` may be empty: none is read.
Facts collect(const Environment& environment, const std::string& plugstack);

Json json_of(const Facts& facts);
// Errors: invalid.
Result<Facts> parse_facts(std::string_view text);

// The version that Slurm's commands say they have, "22.05.8". Errors: not_found (no such command); os, with
// their words, where they find no slurm.conf.
Result<std::string> slurm_version(const Environment& environment);

// "22.05" of "22.05.8", and of 0x160508: a plugin is loaded by its own series only.
std::string series_of(std::string_view version);
std::string series_of(std::uint32_t version);

}  // namespace pinstep::doctor
