#include "bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gate_outcome.h"
#include "reports/style.h"
#include "reports/text.h"

namespace assay {
namespace {

constexpr std::size_t kNameWidth = 18;  // "onednn.avx512_bf16"
constexpr std::size_t kMostRoom = 10;
constexpr double kRoom = 1 / 0.95;  // below that, there is none worth a line

// Half the width of the interval beside the median.
std::string uncertainty(const Estimate& e) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) return "±?";
  return fmt::format("±{:.1f}%", 50 * (e.high - e.low) / e.median);
}

constexpr double kAsFast = 0.1;  // that two kernels are as fast is shown by an interval that lies within

bool is_as_fast(const Estimate& ratio) { return ratio.low >= 1 / (1 + kAsFast) && ratio.high <= 1 + kAsFast; }

std::string beside_peer(const BenchRow& row, const Style& style) {
  if (!row.best_peer) return "";
  const Estimate& r = row.best_peer->ratio;
  if (r.high < 1) return style.good(fmt::format("{:.2f}× as fast as {}", 1 / r.median, row.best_peer->impl));
  if (r.low > 1) return style.doubtful(fmt::format("{:.2f}× as slow as {}", r.median, row.best_peer->impl));
  if (!is_as_fast(r)) return style.faint(fmt::format("not told apart from {}", row.best_peer->impl));
  return fmt::format("as fast as {} within {:.0f}%", row.best_peer->impl,
                     std::ceil(100 * (std::max(r.high, 1 / r.low) - 1)));
}

const BenchRow* best_of_ours(const std::vector<const BenchRow*>& rows) {
  const BenchRow* best = nullptr;
  for (const BenchRow* r : rows)
    if (!r->peer && r->status == BenchStatus::measured && (best == nullptr || r->ns.median < best->ns.median))
      best = r;
  return best;
}

}  // namespace

std::string time_of_call(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} µs", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string case_text_of(const std::vector<BenchRow>& rows, bool colour) {
  if (rows.empty()) return {};
  const Style style(colour);
  const BenchRow& first = rows.front();
  std::string text = paragraph(first.case_text, "", "  ");
  text += fmt::format("  {}{}{}\n", style.faint(printable(first.shape)),
                      style.faint(fmt::format("; {}", first.cache)),
                      first.threads > 1 ? style.faint(fmt::format(", {} threads", first.threads)) : "");
  const auto on_device = std::ranges::find_if(rows, [](const BenchRow& r) { return !r.device.empty(); });
  if (on_device != rows.end())
    text += fmt::format("  {}\n", style.faint("by the clock of " + printable(on_device->device)));
  std::vector<const BenchRow*> ordered;
  for (const BenchRow& r : rows) ordered.push_back(&r);
  std::ranges::stable_sort(ordered, [](const BenchRow* a, const BenchRow* b) {
    const bool am = a->status == BenchStatus::measured, bm = b->status == BenchStatus::measured;
    if (am != bm) return am;
    return am && a->ns.median < b->ns.median;
  });
  for (const BenchRow* r : ordered) {
    const std::string impl = pad_right(printable(r->impl), kNameWidth);
    if (r->status != BenchStatus::measured) {
      text += paragraph(fmt::format("{}: {}", token(r->status), r->reason), "    " + impl + " ",
                        std::string(kNameWidth + 5, ' '));
      continue;
    }
    std::string line = fmt::format("    {} {} {}", impl, pad_left(time_of_call(r->ns.median), 10),
                                   style.faint(pad_left(uncertainty(r->ns), 7)));
    line += r->limit ? fmt::format("  {:>4.0f}% of {:<22}", 100 * r->limit->share, r->limit->binds)
                     : std::string(32, ' ');
    line += beside_peer(*r, style);
    if (r->contention > kContended)
      line += style.doubtful(fmt::format("  contended: {:.2f} times its own time", r->contention));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
    if (!r->information.empty() && r->peer)
      text += fmt::format("{}{}\n", std::string(kNameWidth + 5, ' '), style.faint(printable(r->information)));
  }
  return text;
}

std::string summary_of(const std::vector<BenchRow>& rows, bool colour, std::size_t planned) {
  const Style style(colour);
  std::map<std::tuple<std::string, std::string, int, std::string>, std::vector<const BenchRow*>> cases;
  std::size_t measured = 0, failed = 0;
  std::map<std::string, std::size_t> not_run, refused;
  for (const BenchRow& r : rows) {
    cases[{r.case_text, r.cache, r.threads, r.device}].push_back(&r);
    measured += r.status == BenchStatus::measured;
    failed += r.has_failed();
    if (r.status == BenchStatus::not_run) ++not_run[fmt::format("{}: {}", r.impl, r.reason)];
    if (r.status == BenchStatus::refused) ++refused[r.impl];
  }
  std::size_t faster = 0, slower = 0, level = 0, undecided = 0;
  std::vector<double> logs;
  std::vector<const BenchRow*> ours;
  for (const auto& [key, all] : cases) {
    const BenchRow* best = best_of_ours(all);
    if (best == nullptr) continue;
    ours.push_back(best);
    if (!best->best_peer) continue;
    const Estimate& r = best->best_peer->ratio;
    logs.push_back(std::log(r.median));
    (r.high < 1 ? faster : r.low > 1 ? slower : is_as_fast(r) ? level : undecided)++;
  }
  std::string text =
      fmt::format("{} of {} measured", grouped(measured), counted(std::max(planned, rows.size()), "row"));
  if (failed > 0) text += ", " + style.bad(fmt::format("{} failed", failed));
  text += '\n';
  for (const auto& [why, n] : not_run)
    text += paragraph(fmt::format("not run: {} ({})", why, counted(n, "row")), "  ", "    ");
  for (const auto& [impl, n] : refused)
    text += fmt::format("  refused: {} ({})\n", printable(impl), counted(n, "row"));
  if (!logs.empty()) {
    double sum = 0;
    for (const double x : logs) sum += x;
    text += fmt::format(
        "Beside the best peer in the same rounds: faster in {}, as fast within {:.0f}% in {}, slower in {}, not told "
        "apart in {} of {}; time over the best peer's {:.2f} in the geometric mean\n",
        faster, 100 * kAsFast, level, slower, undecided, counted(logs.size(), "case"),
        std::exp(sum / static_cast<double>(logs.size())));
  }
  std::erase_if(ours, [](const BenchRow* r) { return !r->limit && !r->best_peer; });
  // The room: what is missing to the limit or to the best peer, whichever is farther.
  const auto room = [](const BenchRow* r) {
    const double to_limit = r->limit && r->limit->share > 0 ? 1 / r->limit->share : 1;
    const double to_peer = r->best_peer ? r->best_peer->ratio.median : 1;
    return std::max(to_limit, to_peer);
  };
  std::ranges::stable_sort(ours, [&](const BenchRow* a, const BenchRow* b) { return room(a) > room(b); });
  const bool several = ours.size() > 1;
  std::erase_if(ours, [&](const BenchRow* r) { return room(r) < kRoom; });
  if (several && !ours.empty()) text += style.heading("Most room") + '\n';
  for (std::size_t i = 0; several && i < std::min(kMostRoom, ours.size()); ++i) {
    const BenchRow* r = ours[i];
    std::string line = fmt::format("{} {}", r->impl, r->case_text);
    if (r->cache != name(Cache::warm)) line += " " + r->cache;
    if (r->limit) line += fmt::format(": {:.0f}% of {}", 100 * r->limit->share, r->limit->binds);
    if (r->best_peer)
      line += fmt::format(", {:.2f} times {}'s time", r->best_peer->ratio.median, r->best_peer->impl);
    text += paragraph(line, "  ", "    ");
  }
  return text;
}

}  // namespace assay
