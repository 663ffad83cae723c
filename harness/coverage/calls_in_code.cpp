#include "calls_in_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "reports/file.h"

namespace assay {
namespace {

// Each access is checked: nothing is known of the file but its name.
class Library {
 public:
  explicit Library(const std::string& path) : name_(path), content_(read_file(path)) {
    if (content_.size() < sizeof(Elf64_Ehdr) || std::memcmp(content_.data(), ELFMAG, SELFMAG) != 0 ||
        content_[EI_CLASS] != ELFCLASS64)
      fail("is no 64-bit shared library");
    const auto header = at<Elf64_Ehdr>(0);
    machine_ = header.e_machine;
    for (std::uint64_t i = 0; i < header.e_shnum; ++i)
      sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
  }

  bool is_x86() const { return machine_ == EM_X86_64; }

  // Where the loader writes the addresses of these functions.
  std::set<std::uint64_t> slots(std::initializer_list<std::string_view> functions) const {
    std::set<std::uint64_t> found;
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_RELA || s.sh_link >= sections_.size()) continue;
      const Elf64_Shdr& symbols = sections_[s.sh_link];
      if (symbols.sh_link >= sections_.size()) continue;
      for (std::uint64_t i = 0; i < s.sh_size / sizeof(Elf64_Rela); ++i) {
        const auto r = at<Elf64_Rela>(s.sh_offset + i * sizeof(Elf64_Rela));
        const std::uint64_t symbol = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info);
        if (symbol == 0 || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)) continue;
        const auto sym = at<Elf64_Sym>(symbols.sh_offset + symbol * sizeof(Elf64_Sym));
        const std::string_view name = text(sections_[symbols.sh_link].sh_offset + sym.st_name);
        if (std::ranges::find(functions, name) != functions.end()) found.insert(r.r_offset);
      }
    }
    return found;
  }

  struct Code {
    std::uint64_t address;
    std::span<const unsigned char> bytes;
  };
  std::vector<Code> code() const {
    std::vector<Code> all;
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_PROGBITS || (s.sh_flags & SHF_EXECINSTR) == 0) continue;
      if (s.sh_offset > content_.size() || s.sh_size > content_.size() - s.sh_offset) fail("ends too early");
      all.push_back(
          {s.sh_addr, {reinterpret_cast<const unsigned char*>(content_.data()) + s.sh_offset, s.sh_size}});
    }
    return all;
  }

 private:
  [[noreturn]] void fail(const char* what) const { throw FileError(fmt::format("{}: {}", name_, what)); }

  template <class T>
  T at(std::uint64_t offset) const {
    if (offset > content_.size() || sizeof(T) > content_.size() - offset) fail("ends too early");
    T value;
    std::memcpy(&value, content_.data() + offset, sizeof(T));
    return value;
  }

  std::string_view text(std::uint64_t offset) const {
    if (offset >= content_.size()) fail("ends too early");
    return {content_.data() + offset, strnlen(content_.data() + offset, content_.size() - offset)};
  }

  std::string name_;
  std::string content_;
  std::uint16_t machine_ = EM_NONE;
  std::vector<Elf64_Shdr> sections_;
};

// Where an instruction leads whose last four bytes, which begin here, are a distance from its end.
std::uint64_t target(const Library::Code& code, std::size_t at) {
  std::int32_t distance;
  std::memcpy(&distance, code.bytes.data() + at, sizeof(distance));
  return code.address + at + 4 + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
}

}  // namespace

std::vector<std::uint64_t> calls_in_code(const std::string& path,
                                         std::initializer_list<std::string_view> functions) {
  constexpr unsigned char kEndbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
  const Library library(path);
  const std::set<std::uint64_t> slots =
      library.is_x86() ? library.slots(functions) : std::set<std::uint64_t>{};
  if (slots.empty()) return {};
  const std::vector<Library::Code> all = library.code();
  std::set<std::uint64_t> links;  // jmp *slot, perhaps after endbr64 and with a prefix
  for (const Library::Code& code : all)
    for (std::size_t i = 0; i + 6 <= code.bytes.size(); ++i) {
      if (code.bytes[i] != 0xff || code.bytes[i + 1] != 0x25 || !slots.contains(target(code, i + 2)))
        continue;
      links.insert(code.address + i);
      const std::size_t begin = i > 0 && code.bytes[i - 1] == 0xf2 ? i - 1 : i;
      links.insert(code.address + begin);
      if (begin >= 4 && std::memcmp(code.bytes.data() + begin - 4, kEndbr, 4) == 0)
        links.insert(code.address + begin - 4);
    }
  std::set<std::uint64_t> after;
  for (const Library::Code& code : all)
    for (std::size_t i = 0; i + 5 <= code.bytes.size(); ++i) {
      if (code.bytes[i] == 0xe8 && links.contains(target(code, i + 1))) after.insert(code.address + i + 5);
      if (code.bytes[i] == 0xff && code.bytes[i + 1] == 0x15 && i + 6 <= code.bytes.size() &&
          slots.contains(target(code, i + 2)))
        after.insert(code.address + i + 6);
    }
  return {after.begin(), after.end()};
}

}  // namespace assay
