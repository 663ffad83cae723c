#include "runtime.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "calls_in_code.h"
#include "reports/file.h"

#if defined(ASSAY_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_RECORDS_COVERAGE 0
#else
#define ASSAY_RECORDS_COVERAGE 1
#endif

namespace assay {
namespace {

// What follows is read by code that may run before main and on any thread: no constructors, and no locks.

struct Guards {
  std::uint32_t* first;
  std::uint32_t* end;
};
struct Table {
  const std::uintptr_t* first;  // pairs: where a block begins, and 1 if it begins a function
  const std::uintptr_t* end;
};
constexpr std::size_t kMostModules = 60;
constexpr std::uint32_t kByCall = ~0u;  // of a guard: its block is known by who calls

struct CodeRange {
  std::uintptr_t base;                  // where address 0 of the file is
  std::uintptr_t begin, end;            // its code
  const std::uint32_t* number_of_call;  // for each byte of it: block + 1, or 0; null: has a table
};

bool wanted = false;
Guards guards[kMostModules];
std::size_t guard_count = 0;
Table tables[kMostModules];
std::size_t table_count = 0;
CodeRange ranges[kMostModules];
std::size_t range_count = 0;
CoverageLog* log_ = nullptr;
std::atomic<std::uint32_t>* last_call_of_block = nullptr;
std::uint32_t block_count = 0;
std::atomic<std::uint32_t> call_number{0};

// Which of a comparison's outcomes this call has had already.
struct Site {
  std::atomic<std::uint64_t> place;
  std::atomic<std::uint64_t> had;  // call number << 3 | a bit for less, equal and greater
};
constexpr std::size_t kSites = 1 << 14;
constexpr std::size_t kSitesTried = 8;
Site* sites = nullptr;

void block_ran(std::uint32_t block) {
  if (log_ == nullptr || block >= block_count) return;
  const std::uint32_t call = call_number.load(std::memory_order_relaxed);
  if (last_call_of_block[block].load(std::memory_order_relaxed) == call) return;
  last_call_of_block[block].store(call, std::memory_order_relaxed);
  const std::uint32_t at = log_->blocks.fetch_add(1, std::memory_order_relaxed);
  if (at < kMostBlocksLogged) log_->block[at] = block;
}

const CodeRange* range_of(std::uintptr_t address) {
  for (std::size_t i = 0; i < range_count; ++i)
    if (address >= ranges[i].begin && address < ranges[i].end) return &ranges[i];
  return nullptr;
}

// The hooks below call these, where there are any.
[[maybe_unused]] void block_ran_that_calls(std::uintptr_t from) {
  if (log_ == nullptr) return;
  const CodeRange* const range = range_of(from);
  if (range == nullptr || range->number_of_call == nullptr) return;
  const std::uint32_t number = range->number_of_call[from - range->begin];
  if (number != 0) block_ran(number - 1);
}

struct Compared {
  std::int64_t left, right;
  bool constant = false, real = false;
};

void compared(std::uintptr_t from, std::uint64_t which, const Compared& c, unsigned outcome) {
  if (log_ == nullptr) return;
  const std::uint64_t key = from ^ which << 48;
  const std::uint64_t call = call_number.load(std::memory_order_relaxed);
  std::size_t at = (key * 0x9e3779b97f4a7c15) >> 50;
  for (std::size_t tried = 0;; ++tried, at = (at + 1) % kSites) {
    if (tried == kSitesTried) return;
    std::uint64_t place = sites[at].place.load(std::memory_order_relaxed);
    if (place == 0 && !sites[at].place.compare_exchange_strong(place, key)) {
      if (place != key) continue;
    } else if (place != 0 && place != key) {
      continue;
    }
    break;
  }
  std::uint64_t had = sites[at].had.load(std::memory_order_relaxed);
  if (had >> 3 != call) had = call << 3;
  if ((had & outcome) != 0) return;
  sites[at].had.store(had | outcome, std::memory_order_relaxed);
  const CodeRange* const range = range_of(from);
  if (range == nullptr) return;
  const std::uint32_t n = log_->comparisons.fetch_add(1, std::memory_order_relaxed);
  if (n >= kMostComparisonsLogged) return;
  log_->comparison[n] = {
      comparison_place(static_cast<std::uint64_t>(range - ranges), which, from - range->base), c.left,
      c.right, c.constant ? 1u : 0u, c.real ? 1u : 0u};
}

template <class T>
unsigned outcome_of(T left, T right) {
  return left < right ? 1 : left == right ? 2 : 4;
}

[[maybe_unused]] void integers_compared(std::uintptr_t from, std::int64_t left, std::int64_t right,
                                        bool constant) {
  compared(from, 0, {left, right, constant, false}, outcome_of(left, right));
}

[[maybe_unused]] void reals_compared(std::uintptr_t from, double left, double right) {
  compared(from, 0, {std::bit_cast<std::int64_t>(left), std::bit_cast<std::int64_t>(right), false, true},
           outcome_of(left, right));
}

// ---- Finding what is instrumented ------------------------------------------------------------------------

std::vector<CoveredModule>& modules() {
  static std::vector<CoveredModule> all;
  return all;
}

struct Code {
  std::uintptr_t begin = 0, end = 0;
};

Code code_of(const dl_phdr_info& info) {
  Code code;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (code.end == 0) code = {begin, begin};
    code.begin = std::min(code.begin, begin);
    code.end = std::max(code.end, begin + header.p_memsz);
  }
  return code;
}

bool holds(const dl_phdr_info& info, const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && at >= begin && at < begin + header.p_memsz) return true;
  }
  return false;
}

template <class T>
T* zeros(std::size_t n) {
  void* const p = mmap(nullptr, std::max<std::size_t>(n, 1) * sizeof(T), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<T*>(p);
}

// With a table, guards and table are of the same length, and the i-th guard is the i-th block's.
bool add_by_table(const dl_phdr_info& info, CoveredModule& module) {
  for (std::size_t t = 0; t < table_count; ++t) {
    if (!holds(info, tables[t].first)) continue;
    const auto n = static_cast<std::size_t>(tables[t].end - tables[t].first) / 2;
    for (std::size_t g = 0; g < guard_count; ++g) {
      if (!holds(info, guards[g].first) || static_cast<std::size_t>(guards[g].end - guards[g].first) != n)
        continue;
      for (std::size_t i = 0; i < n; ++i) {
        guards[g].first[i] = ++block_count;
        module.blocks.push_back(
            {tables[t].first[2 * i] - info.dlpi_addr, (tables[t].first[2 * i + 1] & 1) != 0});
      }
      return true;
    }
  }
  return false;
}

bool add_by_calls(const dl_phdr_info& info, const Code& code, CoveredModule& module, CodeRange& range) {
  std::vector<std::uint64_t> after;
  try {
    after = calls_in_code(module.path, {"__sanitizer_cov_trace_pc", "__sanitizer_cov_trace_pc_guard"});
  } catch (const FileError&) {
    return false;
  }
  if (after.empty()) return false;
  auto* const numbers = zeros<std::uint32_t>(code.end - code.begin);
  if (numbers == nullptr) return false;
  for (const std::uint64_t address : after) {
    numbers[info.dlpi_addr + address - code.begin] = ++block_count;
    module.blocks.push_back({address, false});
  }
  for (std::size_t g = 0; g < guard_count; ++g)
    if (holds(info, guards[g].first)) std::fill(guards[g].first, guards[g].end, kByCall);
  module.by_calls = true;
  range.number_of_call = numbers;
  return true;
}

int look_at(dl_phdr_info* info, std::size_t, void*) {
  if (info->dlpi_name == nullptr || *info->dlpi_name != '/' || range_count == kMostModules) return 0;
  const Code code = code_of(*info);
  if (code.end == 0) return 0;
  CoveredModule module{info->dlpi_name, false, {}};
  CodeRange range{info->dlpi_addr, code.begin, code.end, nullptr};
  if (!add_by_table(*info, module) && !add_by_calls(*info, code, module, range)) return 0;
  modules().push_back(std::move(module));
  ranges[range_count++] = range;
  return 0;
}

}  // namespace

bool can_record_coverage() { return ASSAY_RECORDS_COVERAGE != 0; }

void begin_coverage() {
  const char* const value = std::getenv(kCoverageVariable);
  wanted = value != nullptr && *value != '\0';
}

void find_covered_modules() {
  if (!wanted || !modules().empty()) return;
  dl_iterate_phdr(look_at, nullptr);
  if (modules().empty()) return;
  last_call_of_block = zeros<std::atomic<std::uint32_t>>(block_count);
  sites = zeros<Site>(kSites);
  if (last_call_of_block == nullptr || sites == nullptr) modules().clear();
}

const std::vector<CoveredModule>& covered_modules() { return modules(); }

void record_coverage(CoverageLog* log) {
  if (modules().empty()) log = nullptr;
  log_ = log;
  if (log != nullptr) log->records = CoverageLog::kRecords;
}

void begin_covered_entry(std::uint32_t i) {
  if (log_ == nullptr || i >= kCoveredEntries) return;
  if (i == 0) {
    log_->blocks.store(0);
    log_->comparisons.store(0);
  }
  log_->blocks_of[i] = {log_->blocks.load(), CoverageLog::kOpen};
  log_->comparisons_of[i] = {log_->comparisons.load(), CoverageLog::kOpen};
  call_number.fetch_add(1);
}

void end_covered_entry(std::uint32_t i) {
  if (log_ == nullptr || i >= kCoveredEntries) return;
  log_->blocks_of[i].end = log_->blocks.load();
  log_->comparisons_of[i].end = log_->comparisons.load();
}

}  // namespace assay

#if ASSAY_RECORDS_COVERAGE
// The names and parameters are those of clang's SanitizerCoverage and of gcc's -fsanitize-coverage.
#define ASSAY_COVERAGE_HOOK extern "C" __attribute__((visibility("default"), used)) void
#define ASSAY_CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_pc_guard_init(std::uint32_t* first, std::uint32_t* end) {
  using namespace assay;
  if (first == end || guard_count == kMostModules) return;
  for (std::size_t i = 0; i < guard_count; ++i)
    if (guards[i].first == first) return;
  guards[guard_count++] = {first, end};
}
ASSAY_COVERAGE_HOOK __sanitizer_cov_pcs_init(const std::uintptr_t* first, const std::uintptr_t* end) {
  using namespace assay;
  if (first == end || table_count == kMostModules) return;
  for (std::size_t i = 0; i < table_count; ++i)
    if (tables[i].first == first) return;
  tables[table_count++] = {first, end};
}
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_pc_guard(std::uint32_t* guard) {
  const std::uint32_t number = *guard;
  if (number == 0) return;
  if (number == assay::kByCall)
    assay::block_ran_that_calls(ASSAY_CALLER);
  else
    assay::block_ran(number - 1);
}
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_pc() { assay::block_ran_that_calls(ASSAY_CALLER); }
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_pc_indir(std::uintptr_t) {}

#define ASSAY_COVERAGE_COMPARISON(bytes, type)                                        \
  ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_cmp##bytes(type left, type right) {       \
    assay::integers_compared(ASSAY_CALLER, left, right, false);                       \
  }                                                                                   \
  ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_const_cmp##bytes(type left, type right) { \
    assay::integers_compared(ASSAY_CALLER, left, right, true);                        \
  }
ASSAY_COVERAGE_COMPARISON(1, std::int8_t)
ASSAY_COVERAGE_COMPARISON(2, std::int16_t)
ASSAY_COVERAGE_COMPARISON(4, std::int32_t)
ASSAY_COVERAGE_COMPARISON(8, std::int64_t)

ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_cmpf(float left, float right) {
  assay::reals_compared(ASSAY_CALLER, static_cast<double>(left), static_cast<double>(right));
}
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_cmpd(double left, double right) {
  assay::reals_compared(ASSAY_CALLER, left, right);
}
// `cases`: how many, of how many bits, and each.
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_switch(std::uint64_t value, const std::uint64_t* cases) {
  using namespace assay;
  if (log_ == nullptr) return;
  const std::uintptr_t from = ASSAY_CALLER;
  const std::uint64_t bits = std::clamp<std::uint64_t>(cases[1], 1, 64);
  const auto number = [&](std::uint64_t n) {
    return static_cast<std::int64_t>(n << (64 - bits)) >> (64 - bits);
  };
  const std::int64_t right = number(value);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(cases[0], 1000); ++i) {
    const std::int64_t left = number(cases[2 + i]);
    compared(from, i + 1, {left, right, true, false}, outcome_of(left, right));
  }
}
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_div4(std::uint32_t) {}
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_div8(std::uint64_t) {}
ASSAY_COVERAGE_HOOK __sanitizer_cov_trace_gep(std::uintptr_t) {}
#endif
