// Quantities for people, with three significant digits and never an exponent.
//
// Units are those in which options take them: K, M and G of a size (--bucket=25M) are powers of 1024, as memory
// has them and the benchmarks of collectives do it; of a rate (--min-bandwidth=10G) powers of 1000, as networks
// have them.
#pragma once

#include <cstdint>
#include <string>

namespace pinstep::worker {

// "1500", "1.50", "0.000800"; "0" where it is that.
std::string three_digits(double value);

std::string shown_rate(double bytes_per_second);  // "12.5 GB/s"
std::string shown_time(double seconds);           // "25.0 us", "1.50 ms", "90.0 s"
std::string shown_size(std::uint64_t bytes);      // "64.0 MiB"

}  // namespace pinstep::worker
