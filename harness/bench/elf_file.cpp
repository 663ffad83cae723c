#include "elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "reports/file.h"

namespace assay {
namespace {

constexpr std::uint32_t kPackedRelocations = 19;  // SHT_RELR, which older headers lack

// `count` records of the file, copied, because nothing says that they are aligned.
template <class Record>
std::vector<Record> records(const std::string& content, std::uint64_t offset, std::uint64_t count,
                            const std::string& path) {
  if (offset > content.size() || count > (content.size() - offset) / sizeof(Record))
    throw FileError(fmt::format("{}: is truncated", path));
  std::vector<Record> all(count);
  if (count > 0) std::memcpy(all.data(), content.data() + offset, count * sizeof(Record));
  return all;
}

template <class Record>
std::vector<Record> records_of(const std::string& content, const Elf64_Shdr& section,
                               const std::string& path) {
  return records<Record>(content, section.sh_offset, section.sh_size / sizeof(Record), path);
}

// Cut where it has no end: each of many places may name it.
std::string name_at(const std::string& content, std::uint64_t offset) {
  constexpr std::size_t kMostBytes = 1 << 16;
  if (offset >= content.size()) return {};
  const std::string_view name = std::string_view(content).substr(offset, kMostBytes);
  return std::string(name.substr(0, name.find('\0')));
}

bool is_defined(const Elf64_Sym& symbol) {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
}

// Names of the versions of other libraries' symbols, by number.
std::map<unsigned, std::string> versions_needed(const std::string& content,
                                                const std::vector<Elf64_Shdr>& sections,
                                                const std::string& path) {
  std::map<unsigned, std::string> versions;
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_GNU_verneed || s.sh_link >= sections.size()) continue;
    int left = 1 << 16;  // more have no number
    for (std::uint64_t library = s.sh_offset; left > 0;) {
      const Elf64_Verneed needed = records<Elf64_Verneed>(content, library, 1, path)[0];
      std::uint64_t at = library + needed.vn_aux;
      for (int i = 0; i < needed.vn_cnt && left > 0; ++i, --left) {
        const Elf64_Vernaux version = records<Elf64_Vernaux>(content, at, 1, path)[0];
        versions[version.vna_other] = name_at(content, sections[s.sh_link].sh_offset + version.vna_name);
        at += version.vna_next;
      }
      if (needed.vn_next == 0) break;
      library += needed.vn_next;
      --left;
    }
  }
  return versions;
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : content_(read_file(path)) {
  const Elf64_Ehdr header = records<Elf64_Ehdr>(content_, 0, 1, path)[0];
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_X86_64)
    throw FileError(fmt::format("{}: is not a 64-bit x86 library", path));
  // Their number stands elsewhere, where objdump finds it: code would be seen, and data not.
  if (header.e_shoff != 0 && header.e_shnum == 0)
    throw FileError(fmt::format("{}: has more than 65279 sections, which are not read", path));
  const auto sections = records<Elf64_Shdr>(content_, header.e_shoff, header.e_shnum, path);
  for (const Elf64_Phdr& p : records<Elf64_Phdr>(content_, header.e_phoff, header.e_phnum, path))
    if (p.p_type == PT_GNU_RELRO) protected_.push_back({p.p_vaddr, p.p_memsz});
  std::vector<Elf64_Half> version_of;
  for (const Elf64_Shdr& s : sections) {
    const bool in_file = s.sh_type != SHT_NOBITS, of_thread = (s.sh_flags & SHF_TLS) != 0;
    // Zeros of a thread's variables have no place of their own in memory.
    if ((s.sh_flags & SHF_ALLOC) != 0 && (in_file || !of_thread))
      sections_.push_back({s.sh_addr, s.sh_size, s.sh_offset, (s.sh_flags & SHF_EXECINSTR) != 0,
                           (s.sh_flags & SHF_WRITE) != 0, in_file});
    if (in_file && of_thread) thread_data_ = {s.sh_addr, s.sh_size};
    if (s.sh_type == SHT_GNU_versym) version_of = records_of<Elf64_Half>(content_, s, path);
    if (s.sh_link >= sections.size()) continue;
    const std::uint64_t names = sections[s.sh_link].sh_offset;
    if (s.sh_type == SHT_DYNAMIC)
      for (const Elf64_Dyn& d : records_of<Elf64_Dyn>(content_, s, path))
        if (d.d_tag == DT_NEEDED || d.d_tag == DT_RPATH || d.d_tag == DT_RUNPATH)
          links_ += name_at(content_, names + d.d_un.d_val) + '\n';
    if (s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) continue;
    for (const Elf64_Sym& symbol : records_of<Elf64_Sym>(content_, s, path)) {
      if (!is_defined(symbol)) continue;
      const std::string name = name_at(content_, names + symbol.st_name);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size > 0) {
        Variable& v = variables_[symbol.st_value];
        v.size = std::max(v.size, symbol.st_size);
        if (name.starts_with("_ZTV")) v.kind = Variable::Kind::virtual_functions;
        if (name.starts_with("reltable.")) v.kind = Variable::Kind::distances;
      }
      // Constants are compared, and may be shared.
      if (s.sh_type == SHT_DYNSYM && ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE &&
          symbol.st_shndx < sections.size() && (sections[symbol.st_shndx].sh_flags & SHF_WRITE) != 0)
        shared_variable_ = name;
    }
  }

  const std::map<unsigned, std::string> versions = versions_needed(content_, sections, path);
  for (const Elf64_Shdr& s : sections) {
    if ((s.sh_flags & SHF_ALLOC) == 0) continue;  // what the linker left behind
    if (s.sh_type == kPackedRelocations) add_packed_slots(records_of<std::uint64_t>(content_, s, path));
    if (s.sh_type != SHT_RELA) continue;
    const bool named = s.sh_link < sections.size() && sections[s.sh_link].sh_link < sections.size();
    for (const Elf64_Rela& r : records_of<Elf64_Rela>(content_, s, path)) {
      Slot slot{static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)), {}, {}, r.r_addend};
      if (slot.type == R_X86_64_GLOB_DAT || slot.type == R_X86_64_JUMP_SLOT) slot = {R_X86_64_64, {}, {}, 0};
      if (slot.type == R_X86_64_RELATIVE || slot.type == R_X86_64_IRELATIVE) {
        slot.target = static_cast<std::uint64_t>(r.r_addend);
        slot.addend = 0;
      } else if (const std::uint64_t number = ELF64_R_SYM(r.r_info); named && number != 0) {
        const Elf64_Shdr& symbols = sections[s.sh_link];
        const Elf64_Sym symbol =
            records<Elf64_Sym>(content_, symbols.sh_offset + number * sizeof(Elf64_Sym), 1, path)[0];
        if (symbol.st_shndx < SHN_LORESERVE)
          slot.symbol = name_at(content_, sections[symbols.sh_link].sh_offset + symbol.st_name);
        if (!is_defined(symbol)) {
          const unsigned version = number < version_of.size() ? version_of[number] & 0x7fffu : 0;
          if (const auto at = versions.find(version); at != versions.end() && !slot.symbol.empty())
            slot.symbol += '@' + at->second;
        } else if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS) {
          slot.addend += static_cast<std::int64_t>(symbol.st_value);
        } else {
          slot.target = symbol.st_value + static_cast<std::uint64_t>(slot.addend);
          slot.addend = 0;
        }
      }
      slots_[r.r_offset] = std::move(slot);
    }
  }
}

// Each says where a pointer lies, or, odd, which of the 63 places after the last one hold pointers, too. What they are
// relative to stands in the places themselves.
void ElfFile::add_packed_slots(std::span<const std::uint64_t> words) {
  std::uint64_t next = 0;
  const auto add = [&](std::uint64_t place) {
    std::uint64_t target = 0;
    const Content c = bytes(place, sizeof target);
    if (c.in_file.size() != sizeof target) return;
    std::memcpy(&target, c.in_file.data(), sizeof target);
    slots_[place] = {R_X86_64_RELATIVE, {}, target, 0};
  };
  for (const std::uint64_t word : words) {
    if (word % 2 == 0) {
      add(word);
      next = word + sizeof word;
      continue;
    }
    for (std::uint64_t i = 1; i < 64; ++i)
      if ((word >> i & 1) != 0) add(next + (i - 1) * sizeof word);
    next += 63 * sizeof word;
  }
}

std::optional<ElfFile::Range> ElfFile::variable(std::uint64_t address) const {
  const auto after = variables_.upper_bound(address);
  if (after == variables_.begin()) return std::nullopt;
  const auto& [begin, v] = *std::prev(after);
  if (address - begin >= v.size) return std::nullopt;
  return Range{begin, v.size};
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

bool ElfFile::is_writable(std::uint64_t address) const {
  const Section* s = section_of(address);
  return s != nullptr && s->writable && std::ranges::none_of(protected_, [&](const Range& r) {
           return address >= r.begin && address - r.begin < r.size;
         });
}

ElfFile::Content ElfFile::bytes(std::uint64_t address, std::uint64_t most) const {
  const Section* s = section_of(address);
  if (s == nullptr) return {};
  const std::uint64_t left = s->size - (address - s->address);
  Content c{{}, std::min(most, left)};
  const std::uint64_t at = s->offset + (address - s->address);
  if (s->in_file && at < content_.size())
    c.in_file = {reinterpret_cast<const unsigned char*>(content_.data()) + at,
                 std::min<std::uint64_t>(c.size, content_.size() - at)};
  return c;
}

}  // namespace assay
