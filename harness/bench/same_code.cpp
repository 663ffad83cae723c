#include "same_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "../registry/subprocess.h"
#include "elf_file.h"

namespace assay {
namespace {

constexpr std::size_t kTableBytes = 4096;
constexpr std::size_t kPointerBytes = 256;

// How much of memory an instruction with these operands reads at most. Names as objdump writes them.
std::size_t bytes_read(std::string_view instruction) {
  const std::string_view name = instruction.substr(0, instruction.find(' '));
  const bool packed_integers = name.starts_with("p") || name.starts_with("vp");
  const bool one = instruction.find("{1to") != std::string_view::npos;  // a number that stands for all
  if (one || (!packed_integers && (name.ends_with("ss") || name.ends_with("sd")))) return 8;
  if (instruction.find("%zmm") != std::string_view::npos) return 64;
  return instruction.find("%ymm") != std::string_view::npos ? 32 : 16;
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

}  // namespace

class CodeComparison::Library {
 public:
  struct Instruction {
    std::string text;  // without what is an address
    std::uint64_t address = 0;
    std::optional<std::uint64_t> target;
    bool takes_address = false;  // lea: what it points to may be a table
  };
  using Function = std::vector<Instruction>;

  explicit Library(const std::string& file) : path(file), elf(file) {
    const Finished listing =
        run_program("/usr/bin/objdump", {"-d", "--no-show-raw-insn", "--wide", path}, {"LC_ALL=C"});
    if (!listing.started || listing.status != 0)
      throw std::runtime_error(fmt::format("objdump cannot read {}: {}", path, listing.err));
    text_ = listing.out;
    index();
  }

  // Where the function begins that this address lies in; it may be in the middle, where the compiler split off a part.
  std::uint64_t beginning(std::uint64_t address) const {
    const auto after = places_.upper_bound(address);
    return after == places_.begin() ? address : std::prev(after)->first;
  }

  bool begins(std::uint64_t address) const { return places_.contains(address); }

  // nullptr if no function begins there.
  const Function* function(std::uint64_t address) {
    const auto known = parsed_.find(address);
    if (known != parsed_.end()) return &known->second;
    const auto place = places_.find(address);
    if (place == places_.end()) return nullptr;
    return &parsed_.emplace(address, parse(place->second)).first->second;
  }

  std::string path;
  ElfFile elf;

 private:
  // "0000000000071230 <name>:" begins a function.
  void index() {
    const std::string_view text = text_;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      if (line.ends_with(">:"))
        if (const auto address = hexadecimal(line))
          places_[*address] = text.substr(end + 1 > text.size() ? end : end + 1);
      at = end + 1;
    }
  }

  static Function parse(std::string_view text) {
    Function function;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      if (line.empty()) break;  // between functions
      if (auto instruction = instruction_of(line)) function.push_back(std::move(*instruction));
      at = end + 1;
    }
    // What fills up to the next function is none of this one's.
    while (!function.empty() &&
           (function.back().text.starts_with("nop") || function.back().text.starts_with("xchg   %ax,%ax") ||
            function.back().text.starts_with("cs nop") || function.back().text.starts_with("data16")))
      function.pop_back();
    return function;
  }

  // "   73473:\tvmovaps 0x1234(%rip),%ymm0        # 4a17c0 <name+0x20>", "   73480:\tjmp    73500 <name+0x90>"
  static std::optional<Instruction> instruction_of(std::string_view line) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string_view::npos) return std::nullopt;
    const std::size_t first = line.find_first_not_of(' ');
    const auto address = hexadecimal(line.substr(first, colon - first));
    if (!address) return std::nullopt;
    Instruction i;
    i.address = *address;
    std::string_view code = line.substr(colon + 2);
    const std::size_t comment = code.find("# ");
    const std::size_t relative = code.find("(%rip)");
    if (comment != std::string_view::npos && relative != std::string_view::npos) {
      i.target = hexadecimal(code.substr(comment + 2));
      const std::size_t number = code.find_last_of(" ,*", relative) + 1;
      i.text = std::string(code.substr(0, number)) +
               std::string(code.substr(relative, code.find_last_not_of(' ', comment - 1) + 1 - relative));
      i.takes_address = code.starts_with("lea");
      return i;
    }
    // A branch names where it goes.
    const std::size_t name = code.find(" <");
    if (name != std::string_view::npos) {
      const std::size_t number = code.find_last_of(' ', name - 1) + 1;
      i.target = hexadecimal(code.substr(number, name - number));
      if (i.target) {
        i.text = std::string(code.substr(0, number));
        // Functions of other libraries are known by name alone.
        if (code.find("@plt>") != std::string_view::npos) {
          i.text += code.substr(name);
          i.target.reset();
        }
        return i;
      }
    }
    i.text = std::string(code);
    return i;
  }

  std::string text_;
  std::map<std::uint64_t, std::string_view> places_;
  std::map<std::uint64_t, Function> parsed_;
};

CodeComparison::CodeComparison(const std::string& a, const std::string& b)
    : a_(std::make_unique<Library>(a)), b_(std::make_unique<Library>(b)) {}

CodeComparison::~CodeComparison() = default;

std::string CodeComparison::unseen(std::uint64_t a, std::uint64_t b) {
  for (const auto& [library, address] : {std::pair{a_.get(), a}, {b_.get(), b}})
    if (!library->begins(address))
      return fmt::format("no symbol in {} says where the kernel begins (a stripped library has none)",
                         library->path);
  return {};
}

bool CodeComparison::same(std::uint64_t first_a, std::uint64_t first_b) {
  // Pairs that must be equal for the first pair to be.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> waiting{{first_a, first_b}};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen(waiting.begin(), waiting.end());
  const auto follow = [&](std::uint64_t a, std::uint64_t b) {
    if (!equal_.contains({a, b}) && seen.emplace(a, b).second) waiting.emplace_back(a, b);
  };
  const auto same_data = [&](std::uint64_t a, std::uint64_t b, const Library::Instruction& user) {
    const std::uint64_t named = a_->elf.left_of_variable(a);
    if (named != b_->elf.left_of_variable(b)) return false;
    const std::size_t n = named > 0 ? named : user.takes_address ? kTableBytes : bytes_read(user.text);
    const auto x = a_->elf.bytes(a, n), y = b_->elf.bytes(b, n);
    const std::size_t reach = named > 0 ? named : kPointerBytes;
    const auto p = a_->elf.pointers(a, reach), q = b_->elf.pointers(b, reach);
    if (p.size() != q.size() || a_->elf.symbol(a) != b_->elf.symbol(b)) return false;
    for (auto i = p.begin(), j = q.begin(); i != p.end(); ++i, ++j) {
      if (i->first != j->first) return false;
      const bool code = a_->elf.is_code(i->second);
      if (code != b_->elf.is_code(j->second)) return false;
      if (code) follow(i->second, j->second);
    }
    if (!p.empty()) return true;  // what it holds besides is filled in by the loader
    // Shorter at a section's end: as far as both go.
    const std::size_t common = std::min(x.size(), y.size());
    return std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(common), y.begin());
  };
  while (!waiting.empty()) {
    const auto [at_a, at_b] = waiting.back();
    waiting.pop_back();
    const Library::Function* f = a_->function(at_a);
    const Library::Function* g = b_->function(at_b);
    if (f == nullptr || g == nullptr || f->size() != g->size()) return false;
    for (std::size_t i = 0; i < f->size(); ++i) {
      const Library::Instruction &p = (*f)[i], &q = (*g)[i];
      if (p.text != q.text || p.target.has_value() != q.target.has_value()) return false;
      if (!p.target) continue;
      const std::uint64_t a = *p.target, b = *q.target;
      const auto inside = [](std::uint64_t x, const Library::Function& function) {
        return x >= function.front().address && x <= function.back().address;
      };
      if (inside(a, *f) || inside(b, *g)) {
        if (a - at_a != b - at_b) return false;
      } else if (a_->elf.is_code(a) || b_->elf.is_code(b)) {
        const std::uint64_t begin_a = a_->beginning(a), begin_b = b_->beginning(b);
        if (a - begin_a != b - begin_b) return false;
        follow(begin_a, begin_b);
      } else if (!same_data(a, b, p)) {
        return false;
      }
    }
  }
  equal_.insert(seen.begin(), seen.end());
  return true;
}

}  // namespace assay
