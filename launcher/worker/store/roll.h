// Who is there, who is gone, and who has not come to the place where the others failed: decided in one place,
// so that all ranks name the same culprit. Pure; the time comes in from outside.
//
// A collective that fails fails for many ranks, most of them because a neighbour gave up. So nobody blames
// the rank it was waiting for: each reports that it failed, and the verdict is
//   gone     a rank whose connection ended without a good-bye: the first one
//   failed   a rank that reported an error of its own: the first one
//   silent   all ranks that did not report within the grace time after the first report, and have not been
//            heard lately either
//   cut_off  the ranks of rank 0's node, where that would be all ranks of all other nodes, two or more
//   stuck    as silent, but their watchdogs are heard: they live, and did not get to the collective of the
//            others
//   unknown  all reported or got there, none is gone
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

struct Verdict {
  enum class Kind { gone, failed, silent, cut_off, stuck, unknown };

  Kind kind = Kind::unknown;
  std::vector<std::uint32_t> ranks;
  std::string text;  // "rank 2 on n1 is gone"
};

std::string_view to_string(Verdict::Kind kind);
std::optional<Verdict::Kind> parse_verdict_kind(std::string_view name);

class Roll {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  Roll(std::uint32_t size, std::chrono::milliseconds grace) : members_(size), grace_(grace) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }

  // Errors: conflict (the rank is there already, or there is no such rank).
  Result<void> arrive(std::uint32_t rank, const std::string& node);
  void leave(std::uint32_t rank) { members_[rank].state = State::left; }
  void lose(std::uint32_t rank);
  // `own_error` where the rank's own trouble, and not an operation that others share, made it fail.
  void report(std::uint32_t rank, const std::optional<std::string>& own_error, Moment now);

  // A rank lives, and `reached` is the number of its last collective.
  void hear(std::uint32_t rank, std::uint64_t reached, Moment now);

  // Once something is known to be wrong; nothing as long as it may still turn out otherwise.
  std::optional<Verdict> verdict(Moment now) const;
  // When verdict() may change without anybody's doing.
  std::optional<Moment> due() const;
  // Whether anything is wrong, so that nobody need wait for his deadline or another's word.
  bool is_in_trouble() const { return first_ || first_report_; }

  std::uint32_t present() const;
  // Whether one that is still here was heard a moment ago: it lives, and will ask.
  bool hears_somebody(Moment now) const;
  std::vector<std::uint32_t> missing() const;                       // never arrived
  std::string name(const std::vector<std::uint32_t>& ranks) const;  // "rank 2 on n1", "ranks 2 on n1, 3 on n1"

 private:
  enum class State { missing, present, reported, left, gone };
  struct Member {
    State state = State::missing;
    std::string node;
    std::uint64_t reached = 0;
    std::optional<Moment> heard;
  };

  // Of those that have not reported: silent, or stuck behind the others.
  Verdict blame(Moment now) const;
  // Where the silent ones are all ranks of several other nodes, it is rather the node of the roll.
  Verdict blame_silent(const std::vector<std::uint32_t>& silent) const;

  std::vector<Member> members_;
  std::chrono::milliseconds grace_;
  std::optional<Moment> first_report_;
  std::optional<Verdict> first_;  // of a rank that is gone or has failed
};

}  // namespace pinstep::worker
