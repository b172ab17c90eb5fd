#include "envtools/resolve/batch_lines.h"

#include <algorithm>
#include <cctype>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kMagic = "#SBATCH";

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

struct Word {
  std::string text;  // without its quotes
  std::size_t begin;
  std::size_t end;  // in the line
};

// The word at `begin`, which is not blank.
Word word_at(std::string_view line, std::size_t begin) {
  Word word{"", begin, begin};
  char quote = 0;
  for (; word.end < line.size(); ++word.end) {
    const char c = line[word.end];
    if (quote == 0 && is_blank(c)) break;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      const bool escapes = quote != 0 && c == '\\' && word.end + 1 < line.size();
      word.text += escapes ? line[++word.end] : c;
    }
  }
  return word;
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t i = kMagic.size(); i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    words.push_back(word_at(line, i));
    i = words.back().end;
  }
  return words;
}

bool names_a_job(const Word& word) {
  return word.text.starts_with("--job-name") || word.text.starts_with("-J");
}

// The line without our options, which go to `lines`.
Result<std::string> take_line(std::string_view line, BatchLines& lines) {
  const std::vector<Word> words = words_of(line);
  std::string rest;
  std::size_t kept = 0;  // all of the line before this is in `rest`
  for (std::size_t i = 0; i < words.size(); ++i) {
    lines.name_the_job = lines.name_the_job || names_a_job(words[i]);
    if (!is_our_option(words[i].text)) continue;
    const std::size_t first = i;
    auto option = take_option(words[i].text, [&]() -> const std::string* {
      return i + 1 < words.size() ? &words[++i].text : nullptr;
    });
    if (!option) return tl::unexpected(option.error());
    lines.ours.push_back(std::move(*option));
    rest += line.substr(kept, words[first].begin - kept);
    kept = words[i].end;
  }
  rest += line.substr(kept);
  return rest;
}

// Whether sbatch reads on behind this line.
bool is_comment(std::string_view line) {
  const std::string_view text = trim(line);
  return text.empty() || text.starts_with('#');
}

}  // namespace

Result<BatchLines> split_batch_lines(std::string_view script) {
  BatchLines lines;
  std::size_t number = 0;
  std::size_t begin = 0;
  while (begin < script.size()) {
    const std::size_t end = std::min(script.find('\n', begin), script.size());
    const std::string_view line = script.substr(begin, end - begin);
    if (!is_comment(line)) break;
    ++number;
    if (line.starts_with(kMagic)) {
      auto rest = take_line(line, lines);
      if (!rest) {
        Error error = rest.error();
        error.cause = "line " + std::to_string(number) + ": " + error.cause;
        return tl::unexpected(std::move(error));
      }
      lines.script += *rest;
    } else {
      lines.script += line;
    }
    if (end < script.size()) lines.script += '\n';
    begin = end + 1;
  }
  if (begin < script.size()) lines.script += script.substr(begin);
  return lines;
}

}  // namespace pinstep
