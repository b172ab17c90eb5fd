#include "envtools/doctor/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/unit/support/random.h"

namespace pinstep::doctor {
namespace {

template <class T>
void put(std::string& file, std::size_t offset, const T& value) {
  file.resize(std::max(file.size(), offset + sizeof value));
  std::memcpy(file.data() + offset, &value, sizeof value);
}

// A shared object as far as a symbol's value needs: the value lies at 0x300 of the file and at 0x5300 loaded.
std::string shared_object(std::string_view symbol, std::uint32_t value) {
  std::string file;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_phoff = 0x40;
  header.e_phnum = 1;
  header.e_shoff = 0x100;
  header.e_shnum = 2;
  put(file, 0, header);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_vaddr = 0x5000;
  segment.p_filesz = 0x400;
  put(file, 0x40, segment);
  Elf64_Shdr symbols{};
  symbols.sh_type = SHT_DYNSYM;
  symbols.sh_offset = 0x200;
  symbols.sh_size = 2 * sizeof(Elf64_Sym);
  symbols.sh_link = 1;
  put(file, 0x100, symbols);
  Elf64_Shdr names{};
  names.sh_type = SHT_STRTAB;
  names.sh_offset = 0x280;
  names.sh_size = 0x40;
  put(file, 0x100 + sizeof names, names);
  Elf64_Sym found{};
  found.st_name = 1;
  found.st_shndx = 5;
  found.st_value = 0x5300;
  put(file, 0x200 + sizeof found, found);
  file.resize(0x300);
  std::memcpy(file.data() + 0x281, symbol.data(), symbol.size());
  put(file, 0x300, value);
  return file;
}

TEST(Elf, GivesTheNumberThatASymbolStandsFor) {
  const auto number = elf_number(shared_object("plugin_version", 0x160508), "plugin_version");
  ASSERT_TRUE(number) << number.error().cause;
  EXPECT_EQ(*number, 0x160508u);
}

TEST(Elf, OnlyTheWholeNameCounts) {
  for (const char* name : {"plugin", "plugin_version_2", ""})
    EXPECT_FALSE(elf_number(shared_object("plugin_version", 1), name)) << name;
}

TEST(Elf, WhatIsNoSharedObjectIsSaidToBeNone) {
  for (const char* text : {"", "#!/bin/sh\n", "\177ELF"})
    EXPECT_EQ(elf_number(text, "plugin_version").error().cause, "it is not a 64-bit shared object");
}

TEST(Elf, AFileThatIsCutOffAnywhereHasNoNumber) {
  const std::string file = shared_object("plugin_version", 7);
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(elf_number(std::string_view(file).substr(0, size), "plugin_version")) << size;
}

TEST(Elf, SurvivesAnyChangeOfItsBytes) {
  testing_support::Random random;
  for (int round = 0; round < 20000; ++round) {
    std::string file = shared_object("plugin_version", 7);
    for (int change = 0; change < 3; ++change) file[random.below(0x240)] = static_cast<char>(random.below(256));
    SCOPED_TRACE(::testing::Message() << random);
    (void)elf_number(file, "plugin_version");
  }
}

}  // namespace
}  // namespace pinstep::doctor
