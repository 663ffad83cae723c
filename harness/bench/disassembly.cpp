#include "disassembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "../registry/subprocess.h"

namespace assay {
namespace {

using Instruction = Disassembly::Instruction;

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// The line that begins at `at`, which moves after it.
std::string_view next_line(std::string_view text, std::size_t& at) {
  const std::size_t begin = at, end = std::min(text.find('\n', at), text.size());
  at = end + 1;
  return text.substr(begin, end - begin);
}

// "   73473:\tvmovaps 0x1234(%rip),%ymm0        # 4a17c0 <name+0x20>", "   73480:\tjmp    73500 <name+0x90>"
std::optional<Instruction> instruction_of(std::string_view line) {
  const std::size_t colon = line.find(":\t");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::size_t first = line.find_first_not_of(' ');
  const auto address = hexadecimal(line.substr(first, colon - first));
  if (!address) return std::nullopt;
  Instruction i;
  i.address = *address;
  const std::string_view code = line.substr(colon + 2);
  const std::size_t comment = code.find("# ");
  const std::size_t relative = code.find("(%rip)");
  if (comment != std::string_view::npos && relative != std::string_view::npos) {
    i.target = hexadecimal(code.substr(comment + 2));
    const std::size_t number = code.find_last_of(" ,*", relative) + 1;
    i.text = std::string(code.substr(0, number)) +
             std::string(code.substr(relative, code.find_last_not_of(' ', comment - 1) + 1 - relative));
    i.takes_address = code.substr(0, number).find("lea ") != std::string_view::npos;
    // From there code with large distances reaches all data, by numbers: what it means cannot be seen.
    if (i.takes_address && code.find("<_GLOBAL_OFFSET_TABLE_>") != std::string_view::npos) i.target = 0;
    return i;
  }
  // A branch names where it goes.
  const std::size_t name = code.find(" <");
  if (name != std::string_view::npos) {
    const std::size_t number = code.find_last_of(' ', name - 1) + 1;
    i.target = hexadecimal(code.substr(number, name - number));
    if (i.target) {
      i.text = std::string(code.substr(0, number));
      i.to_stub = code.find("@plt>") != std::string_view::npos;
      return i;
    }
  }
  i.text = std::string(code);
  return i;
}

Disassembly::Function parse(std::string_view text) {
  Disassembly::Function function;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at);
    if (line.empty()) break;  // between functions
    if (auto instruction = instruction_of(line)) function.push_back(std::move(*instruction));
  }
  // What fills up to the next function is none of this one's.
  while (!function.empty() &&
         (function.back().text.starts_with("nop") || function.back().text.starts_with("xchg   %ax,%ax") ||
          function.back().text.starts_with("cs nop") || function.back().text.starts_with("data16")))
    function.pop_back();
  return function;
}

Disassembly::Use::Kind kind_of_use(const Instruction& i) {
  using enum Disassembly::Use::Kind;
  if (i.takes_address) return takes_address;
  // The operand that is written stands last, and after it the mask that says which part of it.
  std::string_view operands = i.text;
  if (const std::size_t mask = operands.rfind("{%k"); mask != std::string_view::npos)
    operands = operands.substr(0, mask);
  if (!operands.ends_with("(%rip)")) return reads;
  constexpr std::string_view kReaders[] = {"cmp", "test", "call", "jmp", "push"};
  return !i.text.starts_with("cmpxchg") &&
                 std::ranges::any_of(kReaders,
                                     [&](std::string_view name) { return i.text.starts_with(name); })
             ? reads
             : writes;
}

}  // namespace

// Names as objdump writes them.
std::size_t bytes_read(std::string_view instruction) {
  const std::string_view name = instruction.substr(0, instruction.find(' '));
  const auto has = [&](std::string_view part) { return instruction.find(part) != std::string_view::npos; };
  const bool packed_integers = name.starts_with("p") || name.starts_with("vp");
  const bool one = has("{1to");  // a number that stands for all
  if (one || (!packed_integers && (name.ends_with("ss") || name.ends_with("sd")))) return 8;
  // Those whose registers are narrower than what they read.
  if (has("%zmm") || name.starts_with("vcvt") || name.starts_with("vfpclass") || name.ends_with("tilecfg"))
    return 64;
  if (has("%ymm")) return 32;
  return has("%xmm") || has("16b") || name.starts_with("f") ? 16 : 8;
}

Disassembly::Disassembly(std::string file) : path_(std::move(file)) {
  const Finished listing =
      run_program("/usr/bin/objdump", {"-d", "--no-show-raw-insn", "--wide", path_}, {"LC_ALL=C"});
  if (!listing.started || listing.status != 0)
    throw std::runtime_error(fmt::format("objdump cannot read {}: {}", path_, listing.err));
  text_ = listing.out;
  index();
}

// "0000000000071230 <name>:" begins a function.
void Disassembly::index() {
  const std::string_view text = text_;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at);
    if (!line.ends_with(">:")) continue;
    const std::size_t name = line.find('<');
    if (const auto address = hexadecimal(line); address && name != std::string_view::npos)
      places_[*address] = {line.substr(name + 1, line.size() - name - 3),
                           text.substr(std::min(at, text.size()))};
  }
}

std::uint64_t Disassembly::beginning(std::uint64_t address) const {
  const auto after = places_.upper_bound(address);
  return after == places_.begin() ? address : std::prev(after)->first;
}

const Disassembly::Function* Disassembly::function(std::uint64_t address) {
  const auto known = parsed_.find(address);
  if (known != parsed_.end()) return &known->second;
  const auto place = places_.find(address);
  if (place == places_.end()) return nullptr;
  return &parsed_.emplace(address, parse(place->second.text)).first->second;
}

std::optional<std::uint64_t> Disassembly::slot_of_stub(std::uint64_t stub) {
  const Function* f = function(stub);
  if (f == nullptr) return std::nullopt;
  for (const Instruction& i : *f)
    if (i.target && i.text.find("jmp") != std::string::npos && i.text.find('*') != std::string::npos)
      return i.target;
  return std::nullopt;
}

void Disassembly::find_uses() {
  const std::string_view text = text_;
  std::uint64_t function = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at);
    if (line.ends_with(">:")) function = hexadecimal(line).value_or(function);
    if (line.find("(%rip)") == std::string_view::npos) continue;
    const auto i = instruction_of(line);
    if (!i || !i->target) continue;
    uses_.push_back({*i->target, function, kind_of_use(*i)});
  }
  std::ranges::sort(uses_);
}

std::span<const Disassembly::Use> Disassembly::uses(std::uint64_t begin, std::uint64_t end) {
  if (!uses_found_) find_uses();
  uses_found_ = true;
  const auto first = std::ranges::lower_bound(uses_, begin, {}, &Use::target);
  return {first, std::ranges::lower_bound(first, uses_.end(), end, {}, &Use::target)};
}

std::string_view Disassembly::name(std::uint64_t begin) const {
  const auto place = places_.find(begin);
  return place == places_.end() ? std::string_view() : place->second.name;
}

}  // namespace assay
