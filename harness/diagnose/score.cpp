#include "score.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "../model/parallel.h"
#include "../registry/select.h"
#include "../variants/unobservable.h"
#include "reports/text.h"
#include "suspects.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kMostCases = 60;
constexpr std::int64_t kLeastElements = 24, kLargestCase = 20'000;
constexpr std::uint64_t kEnough = 8;  // diverging elements
constexpr std::size_t kCalls = 4;     // that one diagnosis is of, as a gate has several failures of a kernel

std::vector<std::byte> packed(const VariantResult& r) {
  TensorData t(r.dtype, r.shape);
  for (std::size_t i = 0; i < r.stored; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (r.integers.empty())
      t.set(at, r.values[i]);
    else
      store_integer(t.element(at), r.dtype, r.integers[i]);
  }
  return t.packed();
}

ExpectedOutputs outputs_of(const Variant& v, const Call& call) {
  ExpectedOutputs outputs;
  for (const VariantResult& r : results_of(v, call)) outputs.emplace_back(packed(r));
  return outputs;
}

// Of what rounds the factors of products, and of operands that are rounded: where those are all factors, it is one fault.
bool are_one(std::string_view variant, std::string_view cause) {
  constexpr std::string_view kFactors = "arithmetic.products_of_";
  return variant.starts_with(kFactors) &&
         cause.ends_with(fmt::format(".as_{}", variant.substr(kFactors.size())));
}

int place_of(const std::string& variant, const Diagnosis& d) {
  const auto is = [&](const Named& n) { return n.name == variant || are_one(variant, n.name); };
  if (d.causes.empty() || !d.causes[0].explains_all) return -1;
  if (is(d.causes[0]) || std::ranges::any_of(d.same, is)) return 0;
  int place = 1;
  for (std::size_t i = 1; i < d.causes.size(); ++i, ++place)
    if (is(d.causes[i])) return place;
  for (const Named& n : d.weaker) {
    if (is(n)) return place;
    ++place;
  }
  return -1;
}

Scores score_one(const Operator& op, Dtype dtype, const ScoreOptions& options, std::size_t first,
                 std::mutex& generator, const std::atomic<bool>& interrupted) {
  Scores all;
  const std::vector<Variant> variants = variants_of(op);
  std::vector<std::pair<Case, Call>> cases;
  for (std::uint64_t i = ladder_length(op); i < ladder_length(op) + kMostCases; ++i) {
    const std::scoped_lock lock(generator);
    Case c = generate(op, dtype, options.seed, i);
    Call call = materialise(c);
    std::int64_t n = 1;
    for (const std::int64_t size : call.outputs[0].shape) n *= size;
    if (call.error.empty() && n >= kLeastElements && n <= kLargestCase)
      cases.emplace_back(std::move(c), std::move(call));
  }
  const Contract strict = parse_contract("", dtype);
  const Options quickly{.patience = {.pairs = std::chrono::milliseconds(0)}, .separate = false};
  for (std::size_t i = 0; i < std::min<std::size_t>(3, cases.size()) && !interrupted; ++i) {
    Evidence evidence(cases[i].second, strict, outputs_of(variants[0], cases[i].second));
    const Diagnosis d = diagnose(evidence, quickly);
    stop_now();
    if (d.kind != Diagnosis::Kind::no_fault) all.alarms.push_back(text(cases[i].first) + ": " + summary(d));
  }
  std::size_t number = 0;
  for (const Variant& v : variants) {
    if (interrupted) break;
    if (!shows(v) || !v.dtypes.contains(dtype) || !unobservable(op, v.name, dtype).empty()) continue;
    if (!selects(options.variants, v.name) || number++ % options.every != first % options.every) continue;
    std::vector<std::unique_ptr<Evidence>> evidence;
    Score result;
    result.op = op.schema.name;
    result.dtype = name(dtype);
    result.variant = v.name;
    for (const auto& [c, call] : cases) {
      Call changed = call;
      if (v.arguments && !change_arguments(v, changed)) continue;
      auto e = std::make_unique<Evidence>(call, strict, outputs_of(v, changed));
      if (e->diverging() < kEnough) continue;
      evidence.push_back(std::move(e));
      result.cases.push_back(text(c));
      if (evidence.size() == kCalls) break;
    }
    if (evidence.empty()) {
      ++all.hidden;
      continue;
    }
    std::vector<Evidence*> calls;
    for (const auto& e : evidence) calls.push_back(e.get());
    const Diagnosis d = diagnose(calls, quickly);
    stop_now();  // it may have ended before it named the cause
    result.place = place_of(v.name, d);
    result.said = summary(d);
    all.scores.push_back(std::move(result));
  }
  return all;
}

struct Sum {
  std::size_t planted = 0, first = 0, among_three = 0;
  void add(const Score& s) {
    ++planted;
    first += s.place == 0 ? 1 : 0;
    among_three += s.place >= 0 && s.place < 3 ? 1 : 0;
  }
  std::string text() const {
    const auto percent = [&](std::size_t n) {
      return planted == 0 ? 0 : 100 * static_cast<double>(n) / static_cast<double>(planted);
    };
    return fmt::format("{} planted, {} named first ({:.1f}%), {} among the first three ({:.1f}%)", planted,
                       first, percent(first), among_three, percent(among_three));
  }
};

}  // namespace

Scores score(const std::vector<const Operator*>& operators, const std::vector<Dtype>& dtypes,
             const ScoreOptions& options, const std::atomic<bool>& interrupted,
             const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  std::vector<std::pair<const Operator*, Dtype>> work;
  for (const Operator* op : operators)
    for (int d = 0; d < kDtypes; ++d)
      if (const auto dtype = static_cast<Dtype>(d);
          op->dtypes.contains(dtype) && (dtypes.empty() || std::ranges::count(dtypes, dtype) > 0))
        work.emplace_back(op, dtype);
  std::vector<Scores> parts(work.size());
  std::size_t done = 0;
  std::mutex generator, said;
  const StopScope scope([&] { return interrupted.load(); });
  try {
    for_each_parallel(threads_for(options.jobs), work.size(), [&](std::size_t i) {
      const auto& [op, dtype] = work[i];
      parts[i] = score_one(*op, dtype, options, i, generator, interrupted);
      const std::scoped_lock lock(said);
      progress(++done, work.size(), fmt::format("{} {}", op->schema.name, name(dtype)));
    });
  } catch (const Stopped&) {  // what was finished counts
  }
  Scores all;
  for (Scores& p : parts) {
    std::ranges::move(p.scores, std::back_inserter(all.scores));
    std::ranges::move(p.alarms, std::back_inserter(all.alarms));
    all.hidden += p.hidden;
  }
  return all;
}

std::string to_text(const Scores& scores, Style style) {
  std::map<std::string, Sum> by_operator;
  Sum sum;
  for (const Score& s : scores.scores) {
    by_operator[s.op].add(s);
    sum.add(s);
  }
  std::string out;
  for (const auto& [op, of_op] : by_operator) out += fmt::format("{} {}\n", pad_right(op, 34), of_op.text());
  for (const Score& s : scores.scores)
    if (s.place != 0)
      out += paragraph(
          fmt::format("{} {} {}: {}; said: {}", s.op, s.dtype, s.variant,
                      s.place < 0 ? "not named" : fmt::format("named at place {}", s.place + 1), s.said) +
              fmt::format("\n{}", fmt::join(s.cases, "\n")),
          style.doubtful("missed") + "  ", "        ");
  for (const std::string& a : scores.alarms) out += paragraph(a, style.bad("false alarm") + "  ", "        ");
  return out + fmt::format("\n{}; {} showed in no case; {} false alarms.\n", sum.text(), scores.hidden,
                           scores.alarms.size());
}

std::string to_json(const Scores& scores) {
  using nlohmann::json;
  Sum sum;
  json all = json::array();
  for (const Score& s : scores.scores) {
    sum.add(s);
    all.push_back({{"op", s.op},
                   {"dtype", s.dtype},
                   {"variant", s.variant},
                   {"cases", s.cases},
                   {"place", s.place},
                   {"said", s.said}});
  }
  const json j{{"format", "assay.diagnosis-score/1"},
               {"scores", std::move(all)},
               {"hidden", scores.hidden},
               {"alarms", scores.alarms},
               {"sum", {{"planted", sum.planted}, {"first", sum.first}, {"among_three", sum.among_three}}}};
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace assay::diagnose
