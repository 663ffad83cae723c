// The machine code of a library, function by function, as objdump lists it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

class Disassembly {
 public:
  struct Instruction {
    std::string text;  // without what is an address
    std::uint64_t address = 0;
    std::optional<std::uint64_t> target;
    bool takes_address = false;  // lea: what it points to may be a table
    bool to_stub = false;        // a call or jump through the procedure linkage table
  };
  using Function = std::vector<Instruction>;

  // Throws std::runtime_error if objdump is missing, or cannot read the file.
  explicit Disassembly(std::string file);

  const std::string& path() const { return path_; }
  bool begins(std::uint64_t address) const { return places_.contains(address); }
  // Where the function begins that this address lies in; it may be in the middle, where the compiler split off a part.
  std::uint64_t beginning(std::uint64_t address) const;
  // nullptr if no function begins there.
  const Function* function(std::uint64_t address);
  // The place that a stub of the procedure linkage table takes its address from.
  std::optional<std::uint64_t> slot_of_stub(std::uint64_t stub);
  // Functions that read or write data from `begin` to `end`, or take its address.
  struct Use {
    std::uint64_t target = 0;
    std::uint64_t function = 0;
    enum class Kind : std::uint8_t { reads, writes, takes_address } kind = Kind::reads;
    auto operator<=>(const Use&) const = default;
  };
  std::span<const Use> uses(std::uint64_t begin, std::uint64_t end);
  // Of the function that begins there.
  std::string_view name(std::uint64_t begin) const;

 private:
  void index();
  void find_uses();

  std::string path_;
  std::string text_;
  struct Place {
    std::string_view name;
    std::string_view text;  // to the end of the listing
  };
  std::map<std::uint64_t, Place> places_;
  std::map<std::uint64_t, Function> parsed_;
  std::vector<Use> uses_;
  bool uses_found_ = false;
};

// How much of memory an instruction reads at most.
std::size_t bytes_read(std::string_view instruction);

}  // namespace assay
