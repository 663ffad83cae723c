// Libraries and lists of shapes that cannot be read: bench/elf_file.h, bench/shapes.h.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "../bench/elf_file.h"
#include "../bench/shapes.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string complaint(const std::function<void()>& f) {
  try {
    f();
  } catch (const FileError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

template <class Record>
void put(std::string& bytes, std::size_t at, const Record& record) {
  bytes.resize(std::max(bytes.size(), at + sizeof record));
  std::memcpy(bytes.data() + at, &record, sizeof record);
}

// So many places at which the loader puts the address of what is named so.
std::string library_of(std::size_t places, const std::string& name, std::uint16_t sections) {
  const std::size_t table = 64, symbols = table + 4 * sizeof(Elf64_Shdr),
                    relocations = symbols + 2 * sizeof(Elf64_Sym),
                    names = relocations + places * sizeof(Elf64_Rela);
  std::string bytes;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_X86_64;
  header.e_shoff = table;
  header.e_shnum = sections;
  put(bytes, 0, header);
  Elf64_Shdr section[4]{};
  section[1].sh_type = SHT_RELA;
  section[1].sh_flags = SHF_ALLOC;
  section[1].sh_offset = relocations;
  section[1].sh_size = names - relocations;
  section[1].sh_link = 2;
  section[2].sh_type = SHT_DYNSYM;
  section[2].sh_offset = symbols;
  section[2].sh_size = relocations - symbols;
  section[2].sh_link = 3;
  section[3].sh_type = SHT_STRTAB;
  section[3].sh_offset = names;
  section[3].sh_size = name.size();
  put(bytes, table, section);
  put(bytes, symbols + sizeof(Elf64_Sym), Elf64_Sym{});
  for (std::size_t i = 0; i < places; ++i)
    put(bytes, relocations + i * sizeof(Elf64_Rela),
        Elf64_Rela{8 * i, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0});
  return bytes + name;
}

class BrokenFiles : public ::testing::Test {
 protected:
  std::string file(const std::string& content) const {
    const std::string path = folder_.file("a.so");
    write_file(path, content);
    return path;
  }
  std::string folder() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(BrokenFiles, NamesWithoutEndAreCut) {
  const std::string endless(32 << 20, 'x');
  const ElfFile named(file(library_of(2, "cos" + std::string(1, '\0') + endless, 4)));
  EXPECT_EQ(named.slots().at(0).symbol, "cos");
  EXPECT_EQ(named.slots().at(8).symbol, "cos");
  const ElfFile all(file(library_of(1000, endless, 4)));
  ASSERT_EQ(all.slots().size(), 1000u);
  EXPECT_EQ(all.slots().at(8).symbol, endless.substr(0, 1 << 16));
}

// A file that has them, but says 0, keeps their number in the first of them.
TEST_F(BrokenFiles, SectionsThatAreNotReadAreNotNone) {
  const std::string path = file(library_of(1, "cos", 0));
  EXPECT_THAT(complaint([&] { ElfFile{path}; }), HasSubstr("a.so: has more than 65279 sections"));
}

// Without a descriptor left, not even root opens a folder.
TEST_F(BrokenFiles, AFolderThatCannotBeReadIsNotEmpty) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs descriptors itself";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  const std::string error = complaint([&] { read_shapes(folder()); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(error, "cannot read the folder " + folder() + ": Too many open files");
  EXPECT_THAT(complaint([&] { read_shapes(folder()); }), HasSubstr("there is no *.txt file in this folder"));
}

}  // namespace
}  // namespace assay
