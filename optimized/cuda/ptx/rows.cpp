#include "rows.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

namespace assay::cuda::ptx {
namespace {

using Row = std::int32_t;
using Position = std::int32_t;  // of an instruction
// Kernels of ours take a tenth. PTX can be written that takes any number.
constexpr std::size_t kMostBits = std::size_t{1} << 29;  // of parts and the rows that they need
constexpr int kMostPasses = 64;

template <class F>
void each_read(const Instruction& i, F f) {
  if (i.guard >= 0) f(i.guard);
  if (i.mask >= 0) f(i.mask);
  for (std::size_t k = i.written; k < i.operands; ++k) f(i.row[k]);
}
template <class F>
void each_written(const Instruction& i, F f) {
  for (std::size_t k = 0; k < i.written; ++k) f(i.row[k]);
}

// Instructions without a branch among them, but at the end, and without one into them, but at the start.
struct Part {
  Position begin, end;
  std::vector<std::size_t> next;
};

bool ends_part(const Instruction& i) { return i.flow == Flow::branch || i.flow == Flow::exit; }

std::vector<Part> parts_of(const std::vector<Instruction>& code) {
  std::vector<char> starts(code.size() + 1);
  starts[0] = starts[code.size()] = 1;
  for (std::size_t p = 0; p < code.size(); ++p)
    if (ends_part(code[p])) {
      starts[p + 1] = 1;
      if (code[p].flow == Flow::branch) starts[static_cast<std::size_t>(code[p].target)] = 1;
    }
  std::vector<Part> parts;
  std::vector<std::size_t> number(code.size() + 1);
  for (std::size_t p = 0; p < code.size(); ++p) {
    if (starts[p] != 0) parts.push_back({static_cast<Position>(p), 0, {}});
    parts.back().end = static_cast<Position>(p + 1);
    number[p] = parts.size() - 1;
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Instruction& last = code[static_cast<std::size_t>(parts[k].end - 1)];
    if (last.flow == Flow::branch) parts[k].next.push_back(number[static_cast<std::size_t>(last.target)]);
    if ((!ends_part(last) || last.guard >= 0) && k + 1 < parts.size()) parts[k].next.push_back(k + 1);
  }
  return parts;
}

// For each part a set of rows.
class RowSets {
 public:
  RowSets(std::size_t parts, Row rows)
      : words_((static_cast<std::size_t>(rows) + 63) / 64), bits_(parts * words_) {}
  bool has(std::size_t part, Row r) const { return (word(part, r) >> r % 64 & 1) != 0; }
  void add(std::size_t part, Row r) { bits_[at(part, r)] |= std::uint64_t{1} << r % 64; }
  // Adds to those of `part` those of `next` that are not in `without`; whether there were any that it did not have.
  bool add_of(std::size_t next, std::size_t part, const RowSets& without) {
    std::uint64_t more = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t& own = bits_[part * words_ + w];
      const std::uint64_t added = bits_[next * words_ + w] & ~without.bits_[part * words_ + w] & ~own;
      own |= added;
      more |= added;
    }
    return more != 0;
  }
  template <class F>
  void each(std::size_t part, F f) const {
    for (std::size_t w = 0; w < words_; ++w)
      for (std::uint64_t bits = bits_[part * words_ + w]; bits != 0; bits &= bits - 1)
        f(static_cast<Row>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
  }

 private:
  std::size_t at(std::size_t part, Row r) const { return part * words_ + static_cast<std::size_t>(r) / 64; }
  std::uint64_t word(std::size_t part, Row r) const { return bits_[at(part, r)]; }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

// The instructions from the first to the last at which a row is needed.
struct Interval {
  Position first = INT32_MAX, last = -1;
  void add(Position p) {
    first = std::min(first, p);
    last = std::max(last, p);
  }
};

// What is written under a condition is needed before, too: lanes that do not write keep what they have.
template <class F>
void each_needed(const Instruction& i, F f) {
  each_read(i, f);
  if (i.guard >= 0) each_written(i, f);
}

// Of each row that some part needs when it starts, which of these it is; of others, -1.
std::vector<Row> crossing(const Program& program, const std::vector<Part>& parts, Row& count) {
  std::vector<Row> which(static_cast<std::size_t>(program.rows), -1);
  std::vector<std::size_t> written_in(static_cast<std::size_t>(program.rows), parts.size());
  count = 0;
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (Position p = parts[k].begin; p < parts[k].end; ++p) {
      const Instruction& i = program.code[static_cast<std::size_t>(p)];
      each_needed(i, [&](Row r) {
        const auto at = static_cast<std::size_t>(r);
        if (written_in[at] != k && which[at] < 0) which[at] = count++;
      });
      each_written(i, [&](Row r) { written_in[static_cast<std::size_t>(r)] = k; });
    }
  return which;
}

// False if it would take too much memory, or time.
bool find_intervals(const Program& program, const std::vector<Part>& parts, std::vector<Interval>& intervals,
                    std::vector<Row>& unwritten) {
  Row count = 0;
  const std::vector<Row> which = crossing(program, parts, count);
  if (parts.size() * static_cast<std::size_t>(count) > kMostBits) return false;
  std::vector<Row> rows(static_cast<std::size_t>(count));
  for (std::size_t r = 0; r < which.size(); ++r)
    if (which[r] >= 0) rows[static_cast<std::size_t>(which[r])] = static_cast<Row>(r);

  RowSets needed(parts.size(), count), written(parts.size(), count);  // at the start of a part; in it
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (Position p = parts[k].begin; p < parts[k].end; ++p) {
      const Instruction& i = program.code[static_cast<std::size_t>(p)];
      const auto at_p = [&](Row r) { intervals[static_cast<std::size_t>(r)].add(p); };
      each_read(i, at_p);
      each_written(i, at_p);
      each_needed(i, [&](Row r) {
        const Row w = which[static_cast<std::size_t>(r)];
        if (w >= 0 && !written.has(k, w)) needed.add(k, w);
      });
      each_written(i, [&](Row r) {
        if (const Row w = which[static_cast<std::size_t>(r)]; w >= 0) written.add(k, w);
      });
    }
  bool more = true;
  for (int pass = 0; more; ++pass) {
    if (pass == kMostPasses) return false;
    more = false;
    for (std::size_t k = parts.size(); k-- > 0;)
      for (const std::size_t next : parts[k].next)
        if (needed.add_of(next, k, written)) more = true;
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto at = [&](Position p) {
      return [&intervals, &rows, p](Row w) {
        intervals[static_cast<std::size_t>(rows[static_cast<std::size_t>(w)])].add(p);
      };
    };
    needed.each(k, at(parts[k].begin));
    for (const std::size_t next : parts[k].next) needed.each(next, at(parts[k].end - 1));
  }
  needed.each(0, [&](Row w) { unwritten.push_back(rows[static_cast<std::size_t>(w)]); });
  return true;
}

// New numbers of rows: of those that are free where one is needed first, the lowest. `taken` are in use already.
std::int32_t number_rows(const std::vector<Interval>& intervals, std::vector<Row>& number, Row taken) {
  std::vector<Row> order;
  for (std::size_t r = 0; r < intervals.size(); ++r)
    if (number[r] < 0 && intervals[r].last >= 0) order.push_back(static_cast<Row>(r));
  const auto of = [&](Row r) -> const Interval& { return intervals[static_cast<std::size_t>(r)]; };
  std::stable_sort(order.begin(), order.end(), [&](Row a, Row b) { return of(a).first < of(b).first; });
  using Used = std::pair<Position, Row>;  // until when, and which
  std::priority_queue<Used, std::vector<Used>, std::greater<>> used;
  std::priority_queue<Row, std::vector<Row>, std::greater<>> free;
  for (const Row r : order) {
    for (; !used.empty() && used.top().first < of(r).first; used.pop()) free.push(used.top().second);
    Row& own = number[static_cast<std::size_t>(r)];
    if (free.empty()) {
      own = taken++;
    } else {
      own = free.top();
      free.pop();
    }
    used.emplace(of(r).last, own);
  }
  return taken;
}

// Where each row is a register of its own: any may be read before it is written.
void own_rows_unwritten(Program& program) {
  std::vector<char> kept(static_cast<std::size_t>(program.rows));
  for (const Constant& c : program.constants) kept[static_cast<std::size_t>(c.row)] = 1;
  for (const Special& s : program.specials) kept[static_cast<std::size_t>(s.row)] = 1;
  for (Row r = 0; r < program.rows; ++r)
    if (kept[static_cast<std::size_t>(r)] == 0) program.unwritten.push_back(r);
}

}  // namespace

void share_rows(Program& program) {
  const std::vector<Part> parts = parts_of(program.code);
  std::vector<Interval> intervals(static_cast<std::size_t>(program.rows));
  std::vector<Row> unwritten;
  if (!find_intervals(program, parts, intervals, unwritten)) {
    own_rows_unwritten(program);
    return;
  }
  std::vector<Row> number(static_cast<std::size_t>(program.rows), -1);
  Row taken = 0;
  for (Constant& c : program.constants) number[static_cast<std::size_t>(c.row)] = taken, c.row = taken++;
  for (Special& s : program.specials) number[static_cast<std::size_t>(s.row)] = taken, s.row = taken++;
  const Row own = taken;
  taken = number_rows(intervals, number, taken);
  for (const Row r : unwritten)  // constants and special registers are needed from the start, too
    if (const Row row = number[static_cast<std::size_t>(r)]; row >= own) program.unwritten.push_back(row);
  const auto renumber = [&](std::int32_t& row) { row = number[static_cast<std::size_t>(row)]; };
  for (Instruction& i : program.code) {
    if (i.guard >= 0) renumber(i.guard);
    if (i.mask >= 0) renumber(i.mask);
    for (std::size_t k = 0; k < i.operands; ++k) renumber(i.row[k]);
  }
  program.rows = std::max(taken, 1);
}

}  // namespace assay::cuda::ptx
