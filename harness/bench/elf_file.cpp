#include "elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "reports/file.h"

namespace assay {
namespace {

// `count` records of the file, copied, because nothing says that they are aligned.
template <class Record>
std::vector<Record> records(const std::string& content, std::uint64_t offset, std::uint64_t count,
                            const std::string& path) {
  if (offset > content.size() || count > (content.size() - offset) / sizeof(Record))
    throw FileError(fmt::format("{}: is truncated", path));
  std::vector<Record> all(count);
  std::memcpy(all.data(), content.data() + offset, count * sizeof(Record));
  return all;
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : content_(read_file(path)) {
  const Elf64_Ehdr header = records<Elf64_Ehdr>(content_, 0, 1, path)[0];
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_X86_64)
    throw FileError(fmt::format("{}: is not a 64-bit x86 library", path));
  const auto sections = records<Elf64_Shdr>(content_, header.e_shoff, header.e_shnum, path);
  for (const Elf64_Shdr& s : sections) {
    if ((s.sh_flags & SHF_ALLOC) != 0 && (s.sh_flags & SHF_TLS) == 0)
      sections_.push_back(
          {s.sh_addr, s.sh_size, s.sh_offset, (s.sh_flags & SHF_EXECINSTR) != 0, s.sh_type != SHT_NOBITS});
    if (s.sh_type == SHT_SYMTAB)
      for (const Elf64_Sym& symbol :
           records<Elf64_Sym>(content_, s.sh_offset, s.sh_size / sizeof(Elf64_Sym), path))
        if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) variables_[symbol.st_value] = symbol.st_size;
    if (s.sh_type != SHT_RELA) continue;
    const bool named = s.sh_link < sections.size() && sections[s.sh_link].sh_link < sections.size();
    for (const Elf64_Rela& r :
         records<Elf64_Rela>(content_, s.sh_offset, s.sh_size / sizeof(Elf64_Rela), path)) {
      if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE) {
        relocations_[r.r_offset] = static_cast<std::uint64_t>(r.r_addend);
      } else if (named) {
        const Elf64_Shdr& symbols = sections[s.sh_link];
        const Elf64_Sym symbol = records<Elf64_Sym>(
            content_, symbols.sh_offset + ELF64_R_SYM(r.r_info) * sizeof(Elf64_Sym), 1, path)[0];
        const std::uint64_t name = sections[symbols.sh_link].sh_offset + symbol.st_name;
        if (name < content_.size())
          symbols_[r.r_offset] = content_.substr(name, content_.find('\0', name) - name);
      }
    }
  }
}

std::uint64_t ElfFile::left_of_variable(std::uint64_t address) const {
  const auto after = variables_.upper_bound(address);
  if (after == variables_.begin()) return 0;
  const auto& [begin, size] = *std::prev(after);
  return address - begin < size ? size - (address - begin) : 0;
}

std::string ElfFile::symbol(std::uint64_t address) const {
  const auto found = symbols_.find(address);
  return found == symbols_.end() ? std::string() : found->second;
}

const ElfFile::Section* ElfFile::section_of(std::uint64_t address) const {
  const auto found = std::ranges::find_if(
      sections_, [&](const Section& s) { return address >= s.address && address - s.address < s.size; });
  return found == sections_.end() ? nullptr : &*found;
}

bool ElfFile::is_code(std::uint64_t address) const {
  const Section* s = section_of(address);
  return s != nullptr && s->code;
}

std::span<const unsigned char> ElfFile::bytes(std::uint64_t address, std::size_t most) const {
  const Section* s = section_of(address);
  if (s == nullptr || !s->in_file) return {};
  const std::uint64_t at = s->offset + (address - s->address);
  const std::uint64_t left = s->size - (address - s->address);
  if (at >= content_.size()) return {};
  const std::size_t n = std::min<std::uint64_t>({most, left, content_.size() - at});
  return {reinterpret_cast<const unsigned char*>(content_.data()) + at, n};
}

std::map<std::uint64_t, std::uint64_t> ElfFile::pointers(std::uint64_t address, std::uint64_t size) const {
  std::map<std::uint64_t, std::uint64_t> found;
  for (auto at = relocations_.lower_bound(address); at != relocations_.end() && at->first - address < size;
       ++at)
    found[at->first - address] = at->second;
  return found;
}

}  // namespace assay
