#include "plugin/batch_script.h"

#include <algorithm>
#include <array>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::size_t kScriptLimit = 16 << 20;  // bytes; Slurm takes 4 MB by default
constexpr std::array<std::string_view, 8> kShells{"sh", "bash", "dash", "ksh", "mksh", "zsh", "csh", "tcsh"};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_login_option(std::string_view word) {
  if (word == "--login") return true;
  return word.starts_with('-') && !word.starts_with("--") && word.find('l') != std::string_view::npos;
}

}  // namespace

bool starts_login_shell(std::string_view script) {
  if (!script.starts_with("#!")) return false;
  std::vector<std::string_view> words = split(script.substr(2, script.find('\n') - 2), ' ');
  std::erase(words, "");
  const auto shell = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return std::find(kShells.begin(), kShells.end(), base_name(word)) != kShells.end();
  });
  // Only the interpreter itself, or the one that env(1) starts.
  const auto place = shell - words.begin();
  if (shell == words.end() || place > 2 || (place > 0 && base_name(words[0]) != "env")) return false;
  return std::any_of(shell + 1, words.end(), is_login_option);
}

bool needs_activate_line(const std::string& path) {
  const auto script = read_file(path, kScriptLimit);
  return script && starts_login_shell(script->text) &&
         script->text.find("pinstep activate") == std::string::npos;
}

}  // namespace pinstep
