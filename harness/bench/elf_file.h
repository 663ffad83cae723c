// What a shared library holds: as much of ELF as comparing code needs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace assay {

class ElfFile {
 public:
  // Throws FileError for a file that is no 64-bit x86 shared library.
  explicit ElfFile(const std::string& path);

  // Whether this address is of machine code.
  bool is_code(std::uint64_t address) const;
  // At most `most` bytes from there to the end of the section that holds them; none if no section of the file does.
  std::span<const unsigned char> bytes(std::uint64_t address, std::size_t most) const;
  // Addresses that the loader will write into the places from `address` to `address + size`, by place.
  std::map<std::uint64_t, std::uint64_t> pointers(std::uint64_t address, std::uint64_t size) const;
  // The name of what the loader will find for this place in another library, or elsewhere in this one; empty if nothing.
  std::string symbol(std::uint64_t address) const;
  // How many bytes the named variable has from this address to its end; 0 if no name says.
  std::uint64_t left_of_variable(std::uint64_t address) const;

 private:
  struct Section {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    bool code = false;
    bool in_file = false;
  };
  const Section* section_of(std::uint64_t address) const;

  std::string content_;
  std::vector<Section> sections_;
  std::map<std::uint64_t, std::uint64_t> relocations_;
  std::map<std::uint64_t, std::string> symbols_;
  std::map<std::uint64_t, std::uint64_t> variables_;  // size by address
};

}  // namespace assay
