#include "same_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "disassembly.h"
#include "elf_file.h"

namespace assay {
namespace {

constexpr std::uint64_t kTableBytes = 4096;
constexpr std::uint64_t kSlotBytes = 8;
// A loop that begins after a table's first elements may be given an address that lies before the table.
constexpr std::uint64_t kBefore = 64;

using Instruction = Disassembly::Instruction;
using Slot = ElfFile::Slot;
using Kind = ElfFile::Variable::Kind;

// Whether an address is of a variable of this kind.
bool is_of_kind(const ElfFile& elf, std::uint64_t address, Kind kind) {
  const std::optional<ElfFile::Range> v = elf.variable(address);
  return v && elf.variables().at(v->begin).kind == kind;
}

bool is_of_thread(const Slot& s) {
  return s.type == R_X86_64_DTPMOD64 || s.type == R_X86_64_DTPOFF64 || s.type == R_X86_64_TPOFF64 ||
         s.type == R_X86_64_TLSDESC;
}

const Slot* slot_at(const ElfFile& elf, std::uint64_t place) {
  const auto found = elf.slots().find(place);
  return found == elf.slots().end() ? nullptr : &found->second;
}

// Whether nothing lies there but the library's mark, __dso_handle, which points to itself.
bool is_mark(const ElfFile& elf, std::uint64_t address) {
  const Slot* s = slot_at(elf, address);
  return s != nullptr && s->target == address && !elf.variable(address);
}

// What stands there, if it is a text.
std::optional<std::string_view> text_at(const ElfFile& elf, std::uint64_t address) {
  const auto in_file = elf.bytes(address, kTableBytes).in_file;
  const auto printable = [](unsigned char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  const auto end = std::ranges::find_if_not(in_file, printable);
  // One character before a zero may be the first of a wide text.
  if (end - in_file.begin() < 2 || end == in_file.end() || *end != 0) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(in_file.data()),
                          static_cast<std::size_t>(end - in_file.begin()));
}

// Whether the loader writes into a function.
bool is_changed(const ElfFile& elf, const Disassembly::Function& f) {
  constexpr std::uint64_t kLongest = 15;
  if (f.empty()) return false;
  const auto slot = elf.slots().lower_bound(f.front().address);
  return slot != elf.slots().end() && slot->first < f.back().address + kLongest;
}

// Where they stand beside its own address, they may be distances to data, in code for large libraries.
bool has_wide_numbers(const Disassembly::Function& f) {
  return std::ranges::any_of(f, [](const Instruction& i) { return i.text.starts_with("movabs"); });
}

// What every library has of the compiler; it looks at addresses of variables, and leaves them alone.
bool is_start_file(std::string_view function) {
  constexpr std::string_view kNames[] = {
      "_init", "_fini", "frame_dummy", "register_tm_clones", "deregister_tm_clones", "__do_global_dtors_aux"};
  return std::ranges::find(kNames, function) != std::end(kNames);
}

}  // namespace

struct CodeComparison::Library {
  struct Function {
    std::string_view name;
    std::uint64_t begin = 0;
    auto operator<=>(const Function&) const = default;
  };

  explicit Library(const std::string& file) : elf(file), code(file) {}

  // Functions that may write into a variable: those that name it so, or, however they do, what holds a pointer to it.
  std::vector<Function> writers(std::uint64_t begin, std::uint64_t size) {
    std::set<Function> all;
    std::set<std::uint64_t> seen{begin};
    std::vector<ElfFile::Range> waiting{{begin, size}};
    using enum Disassembly::Use::Kind;
    while (!waiting.empty()) {
      const ElfFile::Range r = waiting.back();
      waiting.pop_back();
      const auto add = [&](const Disassembly::Use& u) {
        if (!is_start_file(code.name(u.function))) all.insert({code.name(u.function), u.function});
      };
      for (const Disassembly::Use& u : code.uses(r.begin - std::min(r.begin, kBefore), r.begin)) {
        const std::optional<ElfFile::Range> other = elf.variable(u.target);
        if (u.kind == takes_address && (!other || other->begin != u.target) && !is_mark(elf, u.target))
          add(u);
      }
      for (const Disassembly::Use& u : code.uses(r.begin, r.begin + r.size))
        if (u.kind != reads || r.begin != begin) add(u);
      for (const auto& [place, slot] : elf.slots()) {
        if (!slot.target || *slot.target < r.begin || *slot.target - r.begin >= r.size) continue;
        const ElfFile::Range holder = elf.variable(place).value_or(ElfFile::Range{place, kSlotBytes});
        if (seen.insert(holder.begin).second) waiting.push_back(holder);
      }
    }
    return {all.begin(), all.end()};
  }

  ElfFile elf;
  Disassembly code;
};

// From two functions to all that they lead to.
class CodeComparison::Walk {
 public:
  Walk(Library& a, Library& b, const std::set<Pair>& known) : a_(a), b_(b), known_(known) {}

  bool same(const Pair& first) {
    follow(first);
    while (!waiting_.empty()) {
      const Pair p = waiting_.back();
      waiting_.pop_back();
      if (!(p.size == 0 ? same_functions(p.a, p.b) : same_data(p.a, p.b, p.size))) return false;
    }
    return true;
  }

  const std::set<Pair>& seen() const { return seen_; }

 private:
  void follow(const Pair& p) {
    if (!known_.contains(p) && seen_.insert(p).second) waiting_.push_back(p);
  }

  bool same_functions(std::uint64_t at_a, std::uint64_t at_b) {
    const Disassembly::Function *f = a_.code.function(at_a), *g = b_.code.function(at_b);
    if (f == nullptr || g == nullptr || f->size() != g->size()) return false;
    if (is_changed(a_.elf, *f) || is_changed(b_.elf, *g)) return false;
    const auto inside = [](std::uint64_t x, const Disassembly::Function& function) {
      return x >= function.front().address && x <= function.back().address;
    };
    for (std::size_t i = 0; i < f->size(); ++i) {
      const Instruction &p = (*f)[i], &q = (*g)[i];
      if (p.text != q.text || p.target.has_value() != q.target.has_value() || p.to_stub != q.to_stub)
        return false;
      if (!p.target) continue;
      const std::uint64_t a = *p.target, b = *q.target;
      if (p.to_stub) {
        if (!same_stubs(a, b)) return false;
      } else if (inside(a, *f) || inside(b, *g)) {
        if (a - at_a != b - at_b || (p.takes_address && has_wide_numbers(*f))) return false;
      } else if (a_.elf.is_code(a) || b_.elf.is_code(b)) {
        if (!same_code(a, b)) return false;
      } else if (!same_operands(a, b, p)) {
        return false;
      }
    }
    return true;
  }

  bool same_code(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t begin_a = a_.code.beginning(a), begin_b = b_.code.beginning(b);
    if (a - begin_a != b - begin_b) return false;
    follow({begin_a, begin_b});
    return true;
  }

  bool same_stubs(std::uint64_t a, std::uint64_t b) {
    const std::optional<std::uint64_t> place_a = a_.code.slot_of_stub(a), place_b = b_.code.slot_of_stub(b);
    if (!place_a || !place_b) return false;
    const Slot *x = slot_at(a_.elf, *place_a), *y = slot_at(b_.elf, *place_b);
    return x != nullptr && y != nullptr && same_slots(*place_a, *x, *place_b, *y);
  }

  bool same_slots(std::uint64_t place_a, const Slot& x, std::uint64_t place_b, const Slot& y) {
    if (x.type != y.type || x.symbol != y.symbol || x.addend != y.addend ||
        x.target.has_value() != y.target.has_value())
      return false;
    if (is_of_thread(x)) return same_thread_data();
    if (x.type != R_X86_64_64 && x.type != R_X86_64_RELATIVE && x.type != R_X86_64_IRELATIVE) return false;
    if (x.target == place_a && y.target == place_b) return true;
    if (x.target) return same_targets(*x.target, *y.target);
    if (x.symbol.find('@') != std::string::npos) return true;
    // Which library it is found in depends on what each file is linked with, and perhaps on where it lies.
    return !x.symbol.empty() && a_.elf.links() == b_.elf.links() &&
           a_.elf.links().find("ORIGIN") == std::string::npos;
  }

  bool same_thread_data() {
    const std::optional<ElfFile::Range>&x = a_.elf.thread_data(), &y = b_.elf.thread_data();
    if (x.has_value() != y.has_value() || (x && x->size != y->size)) return false;
    if (x && x->size > 0) follow({x->begin, y->begin, x->size});
    return true;
  }

  // What a pointer points to.
  bool same_targets(std::uint64_t a, std::uint64_t b) {
    if (a_.elf.is_code(a) != b_.elf.is_code(b)) return false;
    if (a_.elf.is_code(a)) return same_code(a, b);
    if (a_.elf.variable(a) || b_.elf.variable(b)) return same_variables(a, b);
    const std::optional<std::string_view> x = text_at(a_.elf, a), y = text_at(b_.elf, b);
    if (x || y) return x == y;
    follow({a, b, kTableBytes});
    return true;
  }

  bool same_variables(std::uint64_t a, std::uint64_t b) {
    const std::optional<ElfFile::Range> v = a_.elf.variable(a), w = b_.elf.variable(b);
    if (!v || !w || a - v->begin != b - w->begin || v->size != w->size) return false;
    follow({v->begin, w->begin, v->size});
    return true;
  }

  // What an instruction reads, writes or takes the address of.
  bool same_operands(std::uint64_t a, std::uint64_t b, const Instruction& user) {
    std::uint64_t size = bytes_read(user.text);
    const Slot *x = slot_at(a_.elf, a), *y = slot_at(b_.elf, b);
    if (x != nullptr && y != nullptr && is_of_thread(*x)) {
      size = 2 * kSlotBytes;  // which module, and where in it
    } else if (user.takes_address) {
      if (is_mark(a_.elf, a) && is_mark(b_.elf, b)) return true;
      size = kTableBytes;
      bool any = false;
      if (!same_behind(a, b, any)) return false;
      // Before a section's first variable.
      if (any && a_.elf.bytes(a, 1).size == 0 && b_.elf.bytes(b, 1).size == 0) return true;
    }
    if (a_.elf.variable(a) || b_.elf.variable(b)) return same_variables(a, b);
    follow({a, b, size});
    return true;
  }

  // Variables that begin shortly after an address, in both at the same distance, are perhaps meant by it.
  bool same_behind(std::uint64_t a, std::uint64_t b, bool& any) {
    const auto &of_a = a_.elf.variables(), &of_b = b_.elf.variables();
    if (is_of_kind(a_.elf, a, Kind::virtual_functions)) return true;
    for (auto v = of_a.upper_bound(a); v != of_a.end() && v->first - a < kBefore; ++v) {
      if (!of_b.contains(b + (v->first - a))) continue;
      any = true;
      if (!same_variables(v->first, b + (v->first - a))) return false;
    }
    return true;
  }

  bool same_data(std::uint64_t a, std::uint64_t b, std::uint64_t size) {
    const ElfFile::Content x = a_.elf.bytes(a, size), y = b_.elf.bytes(b, size);
    // Shorter at a section's end: as far as both go.
    const std::uint64_t common = std::min(x.size, y.size);
    if (common == 0 || a_.elf.is_writable(a) != b_.elf.is_writable(b)) return false;
    const bool distances = is_of_kind(a_.elf, a, Kind::distances);
    if (distances != is_of_kind(b_.elf, b, Kind::distances)) return false;
    if (distances) return same_distances(a, x, b, y);
    if (a_.elf.is_writable(a) && !same_writers(a, b, common)) return false;
    const auto behind = [&](const ElfFile& elf, std::uint64_t begin) {
      return elf.slots().lower_bound(begin < kSlotBytes ? 0 : begin - kSlotBytes + 1);
    };
    auto p = behind(a_.elf, a), q = behind(b_.elf, b);
    std::uint64_t compared = 0;
    for (;; ++p, ++q) {
      const auto end_of = [common](const ElfFile& elf, auto at, std::uint64_t begin) {
        return at == elf.slots().end() || (at->first >= begin && at->first - begin >= common);
      };
      const bool end = end_of(a_.elf, p, a);
      if (end != end_of(b_.elf, q, b)) return false;
      if (end) return same_bytes(x, y, compared, common);
      // A part of a pointer is nothing that can be followed.
      if (p->first < a || p->first - a != q->first - b ||
          !same_slots(p->first, p->second, q->first, q->second))
        return false;
      if (!same_bytes(x, y, compared, p->first - a)) return false;
      compared = std::min(p->first - a + kSlotBytes, common);
    }
  }

  bool same_distances(std::uint64_t a, const ElfFile::Content& x, std::uint64_t b,
                      const ElfFile::Content& y) {
    std::int32_t p = 0, q = 0;
    if (x.in_file.size() != y.in_file.size() || x.in_file.size() % sizeof p != 0) return false;
    for (std::size_t i = 0; i < x.in_file.size(); i += sizeof p) {
      std::memcpy(&p, &x.in_file[i], sizeof p);
      std::memcpy(&q, &y.in_file[i], sizeof q);
      if (!same_targets(a + static_cast<std::uint64_t>(std::int64_t{p}),
                        b + static_cast<std::uint64_t>(std::int64_t{q})))
        return false;
    }
    return true;
  }

  static bool same_bytes(const ElfFile::Content& x, const ElfFile::Content& y, std::uint64_t begin,
                         std::uint64_t end) {
    const auto at = [](const ElfFile::Content& c, std::uint64_t i) {
      return i < c.in_file.size() ? c.in_file[i] : 0;
    };
    end = std::min<std::uint64_t>(end, std::max(x.in_file.size(), y.in_file.size()));  // after that, zeros
    for (std::uint64_t i = begin; i < end; ++i)
      if (at(x, i) != at(y, i)) return false;
    return true;
  }

  bool same_writers(std::uint64_t a, std::uint64_t b, std::uint64_t size) {
    const std::vector<Library::Function> f = a_.writers(a, size), g = b_.writers(b, size);
    if (f.size() != g.size()) return false;
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (f[i].name != g[i].name) return false;
      follow({f[i].begin, g[i].begin});
    }
    return true;
  }

  Library &a_, &b_;
  const std::set<Pair>& known_;
  std::set<Pair> seen_;
  std::vector<Pair> waiting_;
};

CodeComparison::CodeComparison(const std::string& a, const std::string& b)
    : a_(std::make_unique<Library>(a)), b_(std::make_unique<Library>(b)) {}

CodeComparison::~CodeComparison() = default;

std::string CodeComparison::unseen(std::uint64_t a, std::uint64_t b) {
  for (const auto& [library, address] : {std::pair{a_.get(), a}, {b_.get(), b}}) {
    if (!library->code.begins(address))
      return fmt::format("no symbol in {} says where the kernel begins (a stripped library has none)",
                         library->code.path());
    if (const std::string& shared = library->elf.shared_variable(); !shared.empty())
      return fmt::format(
          "all libraries of a process share {} of {} (STB_GNU_UNIQUE): what one build leaves in it the other reads",
          shared, library->code.path());
  }
  return {};
}

bool CodeComparison::same(std::uint64_t a, std::uint64_t b) {
  Walk walk(*a_, *b_, equal_);
  if (!walk.same({a, b})) return false;
  equal_.insert(walk.seen().begin(), walk.seen().end());
  return true;
}

}  // namespace assay
