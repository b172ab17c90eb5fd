// The end of a program that has something to say on its standard output.
#pragma once

namespace pinstep {

// `code`, or `failed` where not all that was printed could be written: a line on standard error says so. What
// did not get onto a full disk must not pass for nothing.
int end_output(const char* program, int code, int failed);

}  // namespace pinstep
