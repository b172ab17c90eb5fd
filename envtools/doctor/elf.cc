#include "envtools/doctor/elf.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string>

namespace pinstep::doctor {
namespace {

// A T at this offset; nothing where the file ends before.
template <class T>
std::optional<T> at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::string_view name_at(std::string_view file, const Elf64_Shdr& names, std::uint64_t offset) {
  if (names.sh_offset > file.size() || offset >= names.sh_size) return {};
  const std::string_view table = file.substr(names.sh_offset, names.sh_size);
  const std::string_view name = table.substr(std::min<std::uint64_t>(offset, table.size()));
  return name.substr(0, name.find('\0'));
}

// Where in the file a loaded address comes from.
std::optional<std::uint64_t> offset_of(std::string_view file, const Elf64_Ehdr& header, std::uint64_t address) {
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
        address - segment->p_vaddr < segment->p_filesz)
      return segment->p_offset + (address - segment->p_vaddr);
  }
  return std::nullopt;
}

std::optional<Elf64_Sym> find_symbol(std::string_view file, const Elf64_Ehdr& header, std::string_view wanted) {
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section || section->sh_type != SHT_DYNSYM) continue;
    const auto names = at<Elf64_Shdr>(file, header.e_shoff + section->sh_link * sizeof(Elf64_Shdr));
    if (!names) return std::nullopt;
    for (std::uint64_t place = 0; place < section->sh_size; place += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(file, section->sh_offset + place);
      if (!symbol) return std::nullopt;
      if (symbol->st_shndx != SHN_UNDEF && name_at(file, *names, symbol->st_name) == wanted) return symbol;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::uint32_t> elf_number(std::string_view file, std::string_view symbol) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_type != ET_DYN)
    return fail(ErrorKind::corrupt, "it is not a 64-bit shared object");
  const auto found = find_symbol(file, *header, symbol);
  if (!found) return fail(ErrorKind::not_found, "it has no '" + std::string(symbol) + "'");
  const auto offset = offset_of(file, *header, found->st_value);
  const auto value = offset ? at<std::uint32_t>(file, *offset) : std::nullopt;
  if (!value) return fail(ErrorKind::corrupt, "it is cut off");
  return *value;
}

}  // namespace pinstep::doctor
