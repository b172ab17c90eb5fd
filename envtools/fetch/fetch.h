// The contract between pinstep and its private program pinstep-fetch, the only one that links libcurl
// (libcurl and what it loads cost 10 ms per start, and network code stays out of everything else).
//
// The job is JSON on standard input, events are JSON lines on standard output in the order they happen:
//
//   {"connections": 8, "connect_seconds": 15, "stall_seconds": 30,
//    "proxies": {"https": "http://proxy:3128"}, "certificates": "/etc/site.pem",
//    "files": [{"urls": ["https://…"], "sha256": "…", "md5": "", "size": 0, "path": "/…/name.conda"}]}
//   {"event": "progress", "file": 0, "bytes": 123456}
//   {"event": "done", "file": 0, "bytes": 254228, "sha256": "…"}
//   {"event": "failed", "file": 0, "kind": "network", "cause": "…", "hint": "…"}
//
// A file appears under `path` by rename and only when its digest is right; beside it may lie `path`.part,
// which a later try continues, and `path`.part.TAG while process TAG is at it. Several processes may fetch one
// path at a time: each then downloads it, so callers who can should hold a lease. The directory must exist.
// Exit code 0: every file is there. 1: some failed (each said so). 2: the job makes no sense.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

struct FetchFile {
  std::vector<std::string> urls;  // tried in order; http, https and file
  std::string sha256;             // 64 hex digits, or empty (then it is computed and told)
  std::string md5;                // checked where there is no sha256
  std::uint64_t size = 0;         // bytes; 0: unknown
  std::string path;               // absolute
};

struct FetchJob {
  int connections = 8;       // at most, each with its own file
  int connect_seconds = 15;  // for a connection to be made
  int stall_seconds = 30;    // without a KiB per second
  std::vector<FetchFile> files;
  std::map<std::string, std::string> proxies = {};  // "http", "https" → URL; others as the environment says
  std::string certificates = {};  // file or directory; empty: as the environment says, else the usual ones
};

struct FetchEvent {
  enum class Kind { progress, done, failed };
  Kind kind = Kind::progress;
  std::size_t file = 0;                // index in the job
  std::uint64_t bytes = 0;             // so far
  std::string sha256;                  // done
  Error error{ErrorKind::os, "", ""};  // failed: network, refused, corrupt (digest), no_space, not_found, os
};

std::string format_fetch_job(const FetchJob& job);
Result<FetchJob> parse_fetch_job(std::string_view text);
std::string format_fetch_event(const FetchEvent& event);  // with newline
Result<FetchEvent> parse_fetch_event(std::string_view line);

// Runs the program and hands on each event as it comes; returns when it ended. Called from one thread; the
// callback runs in it. If the thread ends, so does the program. Errors: that of the first file that failed;
// not_found (no such program), os.
Result<void> fetch(const std::string& program, const Environment& environment, const FetchJob& job,
                   const std::function<void(const FetchEvent&)>& on_event);

}  // namespace pinstep
