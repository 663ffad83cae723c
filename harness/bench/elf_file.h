// What a shared library holds: as much of ELF as comparing code needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

class ElfFile {
 public:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };
  // What lies in memory: after what is in the file, zeros.
  struct Content {
    std::span<const unsigned char> in_file;
    std::uint64_t size = 0;
  };
  // What the loader writes into a place of eight bytes.
  struct Slot {
    std::uint32_t type = 0;               // of elf.h; R_X86_64_64 for every pointer to a symbol
    std::string symbol;                   // with its version, if it is of another library
    std::optional<std::uint64_t> target;  // where in this file it points to
    std::int64_t addend = 0;              // to what is no address of this file
  };

  struct Variable {
    std::uint64_t size = 0;
    enum class Kind : std::uint8_t {
      any,
      virtual_functions,  // a class's
      distances,  // 32 bits each, from the variable to what it leads to, which LLVM makes of constant pointers
    } kind = Kind::any;
  };

  // Throws FileError for a file that is no 64-bit x86 shared library.
  explicit ElfFile(const std::string& path);

  // Whether this address is of machine code.
  bool is_code(std::uint64_t address) const;
  // Whether code may write there, once the loader is done.
  bool is_writable(std::uint64_t address) const;
  // At most `most` bytes from there to the end of the section that holds them; none if no section does.
  Content bytes(std::uint64_t address, std::uint64_t most) const;
  // By place.
  const std::map<std::uint64_t, Slot>& slots() const { return slots_; }
  // The named variable that holds this address.
  std::optional<Range> variable(std::uint64_t address) const;
  // By where they begin.
  const std::map<std::uint64_t, Variable>& variables() const { return variables_; }
  // What the variables of a thread begin with; those after it begin as zeros.
  const std::optional<Range>& thread_data() const { return thread_data_; }
  // The libraries it is linked with, and where they are searched.
  const std::string& links() const { return links_; }
  // A variable that all libraries of a process share that have one of its name, whoever loads them how; empty if there is none.
  const std::string& shared_variable() const { return shared_variable_; }

 private:
  struct Section {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    bool code = false;
    bool writable = false;
    bool in_file = false;
  };
  const Section* section_of(std::uint64_t address) const;
  void add_packed_slots(std::span<const std::uint64_t> words);

  std::string content_;
  std::vector<Section> sections_;
  std::vector<Range> protected_;  // by the loader, once it has written there
  std::optional<Range> thread_data_;
  std::map<std::uint64_t, Slot> slots_;
  std::map<std::uint64_t, Variable> variables_;
  std::string links_;
  std::string shared_variable_;
};

}  // namespace assay
