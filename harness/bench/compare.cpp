#include "compare.h"

#include <cmath>
#include <map>

namespace assay {
namespace {

bool has_interval(const Estimate& e) { return e.low > 0 && std::isfinite(e.high); }

// The quotient of two estimates, as wide as both together.
Estimate over(const Estimate& a, const Estimate& b) {
  const double ratio = a.median / b.median;
  if (!has_interval(a) || !has_interval(b)) return {ratio, 0, HUGE_VAL};
  return {ratio, a.low / b.high, a.high / b.low};
}

Compared::Verdict verdict_of(const Estimate& change, double margin) {
  if (change.low > 1 + margin) return Compared::Verdict::slower;
  if (change.high < 1 / (1 + margin)) return Compared::Verdict::faster;
  return change.low >= 1 / (1 + margin) && change.high <= 1 + margin ? Compared::Verdict::level
                                                                     : Compared::Verdict::undecided;
}

}  // namespace

Comparison compare(const ResultFile& base, const ResultFile& fresh) {
  Comparison result;
  result.same_machine = base.machine == fresh.machine;
  std::map<std::string, const BenchRow*> before;
  for (const BenchRow& r : base.rows) before[r.key()] = &r;
  for (const BenchRow& r : fresh.rows) {
    const auto found = before.find(r.key());
    if (found == before.end()) {
      result.only_new.push_back(r);
      continue;
    }
    const BenchRow& old = *found->second;
    before.erase(found);
    Compared c;
    c.row = r;
    if (r.best_peer && old.best_peer && r.best_peer->impl == old.best_peer->impl) {
      c.by_ratio = true;
      c.change = over(r.best_peer->ratio, old.best_peer->ratio);
      c.verdict = verdict_of(c.change, kCompareRatio);
    } else if (result.same_machine) {
      c.change = over(r.ns, old.ns);
      c.verdict = verdict_of(c.change, kCompareTime);
    }
    result.rows.push_back(std::move(c));
  }
  for (const BenchRow& row : fresh.untimed)
    if (before.erase(row.key()) > 0) result.lost.push_back(row);
  for (const auto& [key, row] : before) result.only_base.push_back(*row);
  return result;
}

}  // namespace assay
