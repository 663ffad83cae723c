#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../judge/judge.h"
#include "vocabulary/check.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr double kAloneSeconds = 30;  // besides the time that its call may take

BenchRow row_of(const BenchGroup& group, const Kernel& kernel) {
  BenchRow row;
  const Case& c = group.bench_case->c;
  row.op = std::string(c.op->schema.name);
  row.case_text = text(c);
  for (const CaseValue& v : c.arguments)
    if (const auto* t = std::get_if<TensorSpec>(&v)) {
      row.dtype = std::string(name(t->dtype));
      break;
    }
  row.impl = kernel.name;
  row.peer = kernel.peer;
  row.cache = group.cache;
  row.threads = group.threads;
  row.shape = group.bench_case->reason;
  return row;
}

Json open_request(const BenchGroup& group, const std::vector<const Kernel*>& kernels, Modules& modules,
                  const BenchOptions& options) {
  Json list = Json::array();
  for (const Kernel* k : kernels)
    list.push_back({{"module", modules.of(*k)},
                    {"schema", k->schema},
                    {"name", k->table_name},
                    {"shown", k->name},
                    {"contract", k->contract}});
  return {{"do", "open"},
          {"case", text(group.bench_case->c)},
          {"cache", name(group.cache)},
          {"limits", group.threads == 1 || (!kernels.empty() && kernels.front()->on_device)},
          {"same_count", false},
          {"batch_ns", 4e5},
          {"seed", options.seed},
          {"timeout", options.timeout},
          {"threads", group.threads},
          {"kernels", std::move(list)}};
}

std::vector<double> numbers(const Json& list) { return list.get<std::vector<double>>(); }

// Where a set of operands of this size lies when a call begins.
std::string level(Cache cache, const Json& opened) {
  if (opened["device"] != "")
    return cache == Cache::dram || opened["bytes"] > opened["device_cache"] ? "DRAM" : "L2";
  const std::size_t bytes = opened["bytes_of_set"];
  const CacheSizes sizes = cache_sizes();
  if (cache == Cache::dram || bytes > sizes.l3) return "DRAM";
  if (cache == Cache::l2 || bytes > sizes.l2) return "L3";
  return bytes > sizes.l1 ? "L2" : "L1";
}

// The limits of each round beside the kernel's time in that round.
std::optional<BoundBy> bound_by(const Json& limits, const BenchRow& row, const std::vector<double>& times,
                                const std::string& where) {
  const std::vector<double> stream = numbers(limits["stream"]["cpu"]),
                            streaming = numbers(limits["streaming"]["cpu"]),
                            operation = numbers(limits["operation"]["cpu"]),
                            element = numbers(limits["element"]["cpu"]);
  if (stream.size() < times.size() || operation.size() < times.size() || times.empty()) return std::nullopt;
  const double functions = element.empty() ? 0 : static_cast<double>(row.functions);
  std::vector<double> memory, arithmetic, elementary;
  for (std::size_t r = 0; r < times.size(); ++r) {
    memory.push_back(streaming.empty() ? stream[r] : std::min(stream[r], streaming[r]));
    arithmetic.push_back(operation[r] * static_cast<double>(row.operations));
    elementary.push_back(functions == 0 ? 0 : element[r] * functions);
  }
  struct Candidate {
    std::string name;
    const std::vector<double>* ns;
  };
  const Candidate candidates[] = {
      {"memory " + where, &memory}, {"arithmetic", &arithmetic}, {"elementary functions", &elementary}};
  const Candidate* binding = nullptr;
  double longest = -1;
  for (const Candidate& candidate : candidates) {
    const double ns = median_interval(*candidate.ns).median;
    if (ns > longest) {
      longest = ns;
      binding = &candidate;
    }
  }
  std::vector<double> shares;
  for (std::size_t r = 0; r < times.size(); ++r) shares.push_back((*binding->ns)[r] / times[r]);
  return BoundBy{longest, binding->name, median_interval(shares).median};
}

// What no honest kernel can do, as it was measured in the same rounds on the same operands: to read and write the case's bytes and to do
// its operations of single or double precision in less time than the plainest loop. How fast an elementary function can be,
// nobody knows, nor how few operations a convolution takes (Winograd's takes fewer).
struct HardLimit {
  std::string what;
  double ns;      // in the fastest round
  double beyond;  // of its speed, from which a time is impossible
};

constexpr double kBeyondLimit = 1.03;  // limits are measured, too
// From caches a better loop than the one that is measured may get more, and so may one that finds a part of its data in them.
constexpr double kBeyondCaches = 2;
constexpr std::size_t kTimesCache = 4;  // the last level, from which on next to nothing is found there again
// A call alone costs a few nanoseconds: where the operator takes less, times of two loops say nothing about what they do.
constexpr double kLeastLimitNs = 20;

std::vector<HardLimit> hard_limits(const Json& limits, const BenchRow& row, const Json& opened,
                                   const std::string& where) {
  const std::vector<double> ordinary = numbers(limits["stream"]["cpu"]);
  const std::vector<double> streaming = numbers(limits["streaming"]["cpu"]),
                            operation = numbers(limits["operation"]["cpu"]);
  const bool by_streaming =
      !streaming.empty() && (ordinary.empty() || std::ranges::min(streaming) < std::ranges::min(ordinary));
  const std::vector<double>& stream = by_streaming ? streaming : ordinary;
  // Where the limit itself was measured now at one speed and now at another, its fastest round may still be a slow one.
  const auto unrest = [](const std::vector<double>& times) {
    return median_interval(times).median / std::ranges::min(times);
  };
  std::vector<HardLimit> all;
  if (!stream.empty()) {
    const std::size_t bytes = opened["bytes_of_set"];
    // Where less is moved, caches may keep what is written, however cold they were.
    const bool of_memory = bytes >= kTimesCache * cache_sizes().l3;
    all.push_back({fmt::format("to move its {} bytes, in {}", row.bytes, where), std::ranges::min(stream),
                   (of_memory ? kBeyondLimit : kBeyondCaches) * unrest(stream)});
  }
  if (!operation.empty() && (row.dtype == "f32" || row.dtype == "f64") &&
      row.op.find("conv") == std::string::npos)
    all.push_back({fmt::format("for its {} operations", row.operations),
                   std::ranges::min(operation) * static_cast<double>(row.operations),
                   kBeyondLimit * unrest(operation)});
  return all;
}

// Why a time cannot be that of the operator, or "". All of its interval must lie beyond the limit.
std::string impossible_because(const Json& limits, const BenchRow& row, const Json& opened,
                               const std::string& where) {
  for (const HardLimit& limit : hard_limits(limits, row, opened, where))
    if (limit.ns >= kLeastLimitNs && std::isfinite(row.ns.high) && limit.ns > limit.beyond * row.ns.high)
      return fmt::format(
          "a call takes {:.4g} ns, and this machine needs {:.4g} ns {}: {:.0f}% of what is possible, so what was "
          "timed is not the operator",
          row.ns.median, limit.ns, limit.what, 100 * limit.ns / row.ns.median);
  return {};
}

}  // namespace

std::string_view token(BenchRow::Status status) {
  constexpr std::string_view kTokens[] = {"measured", "refused", "failed", "not_run", "impossible"};
  return kTokens[static_cast<std::size_t>(status)];
}

Bench::Bench(const Registry& registry, std::string program, const BenchOptions& options)
    : registry_(registry), options_(options), modules_(std::move(program)) {
  // Every library that any group wants, so that a process serves them all.
  for (const BenchGroup& g : plan(registry, options))
    for (const Kernel* k : g.kernels) modules_.of(*k);
}

const Placement& Bench::placement(int threads) {
  const auto found = placements_.find(threads);
  if (found != placements_.end()) return found->second;
  return placements_.emplace(threads, choose_placement(options_.cpus, options_.node, threads)).first->second;
}

Session& Bench::session(const BenchGroup& group) {
  if (!session_ || session_threads_ != group.threads || session_variables_ != group.variables) {
    session_.reset();
    session_.emplace(modules_, placement(group.threads), group.threads, group.variables,
                     Session::Loading::files, options_.stop);
    session_threads_ = group.threads;
    session_variables_ = group.variables;
  }
  return *session_;
}

nlohmann::json Bench::machine_limits() {
  BenchGroup any;
  any.threads = options_.threads.front();
  return session(any).ask({{"do", "bandwidths"}}, 120)["limits"];
}

std::vector<std::string> Bench::fatal(const BenchGroup& group) {
  std::vector<std::string> reasons(group.kernels.size());
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    try {
      Session& s = session(group);
      const double seconds = kAloneSeconds + 3 * options_.timeout;
      s.ask(open_request(group, {group.kernels[i]}, modules_, options_), seconds);
      s.ask({{"do", "measure"}, {"rounds", options_.rounds}, {"seconds", options_.seconds}},
            seconds + 20 * options_.seconds);
    } catch (const SessionDied& died) {
      session_.reset();
      reasons[i] = died.what();
    }
  }
  return reasons;
}

std::string Bench::apart(const BenchGroup& group, const std::vector<const Kernel*>& kernels) {
  session_.reset();
  const double patience = kAloneSeconds + 3 * options_.timeout * static_cast<double>(kernels.size());
  try {
    Session& s = session(group);
    s.ask(open_request(group, kernels, modules_, options_), patience);
    s.ask({{"do", "measure"}, {"rounds", options_.rounds}, {"seconds", options_.seconds}},
          patience + 20 * options_.seconds);
    const Json closed = s.ask({{"do", "close"}}, patience);
    const Json& last = closed["kernels"].back();
    session_.reset();
    return last["status"] == "wrong" ? last["reason"].get<std::string>() : "";
  } catch (const SessionDied& died) {
    session_.reset();
    const bool first = kernels.size() > 1 && died.kernel == std::size_t{0};
    return first ? "" : died.what();
  } catch (const SessionError&) {
    return {};
  }
}

std::optional<Bench::Culprit> Bench::culprit(const BenchGroup& group, std::size_t victim,
                                             const std::string& why) {
  const Kernel* const its = group.kernels[victim];
  if (group.kernels.size() < 2 || its->on_device || !apart(group, {its}).empty()) return std::nullopt;
  for (std::size_t i = 0; i < group.kernels.size(); ++i)
    if (i != victim && !apart(group, {group.kernels[i], its}).empty())
      return Culprit{
          i, fmt::format(
                 "it damages what runs beside it: with it in the process {} fails ({}); alone it does not",
                 its->name, why)};
  return std::nullopt;
}

// Of those that were right when they began.
std::optional<Bench::Culprit> Bench::culprit(const BenchGroup& group, const Json& opened,
                                             const Json& closed) {
  for (std::size_t i = 0; i < group.kernels.size(); ++i)
    if (opened["kernels"][i]["status"] == "right" && closed["kernels"][i]["status"] == "wrong")
      if (const auto found = culprit(group, i, closed["kernels"][i]["reason"].get<std::string>()))
        return found;
  return std::nullopt;
}

namespace {

std::pair<std::string, std::string> library_and_dtype(const BenchGroup& group, const Kernel& kernel) {
  return {kernel.on_device ? kernel.name : kernel.name.substr(0, kernel.name.find('.')),
          row_of(group, kernel).dtype};
}

}  // namespace

BenchGroup Bench::known(const BenchGroup& asked) const {
  BenchGroup group = asked;
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    const auto found = settled_.find(library_and_dtype(group, *group.kernels[i]));
    if (found == settled_.end()) continue;
    for (const Kernel* k = group.kernels[i]; k != nullptr; k = narrower(registry_, *k))
      if (k->name == found->second) group = with_other(group, i, *k).value_or(group);
  }
  return group;
}

std::optional<BenchGroup> Bench::next(const BenchGroup& group, const nlohmann::json& statuses) {
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    const Kernel& k = *group.kernels[i];
    const auto key = library_and_dtype(group, k);
    if (!k.peer || settled_.contains(key)) continue;
    if (statuses[i]["status"] != "refused") {
      settled_[key] = k.name;
      continue;
    }
    if (const Kernel* other = narrower(registry_, k))
      if (std::optional<BenchGroup> changed = with_other(group, i, *other)) return changed;
  }
  return std::nullopt;
}

std::vector<BenchRow> Bench::measure(const BenchGroup& asked) {
  std::vector<BenchRow> rows;
  for (const Kernel* k : asked.missing) {
    rows.push_back(row_of(asked, *k));
    rows.back().reason = untimed_because(*k, asked.cache);
  }
  BenchGroup group = options_.impls.empty() ? known(asked) : asked;
  Json opened, measured, closed;
  const auto lose = [&](const BenchGroup& of, std::size_t i, const std::string& reason) {
    rows.push_back(row_of(of, *of.kernels[i]));
    rows.back().status = BenchRow::Status::failed;
    rows.back().reason = reason;
  };
  // Kernels that end the process are left out, until it lives. Where nobody knows which one does, each is tried alone.
  for (bool again = false; closed.is_null();) {
    if (group.kernels.empty()) return rows;
    const double patience = kOpenSeconds + 3 * options_.timeout * static_cast<double>(group.kernels.size());
    try {
      const auto open = [&] {
        return session(group).ask(open_request(group, group.kernels, modules_, options_), patience);
      };
      opened = open();
      if (options_.impls.empty())
        while (const std::optional<BenchGroup> other = next(group, opened["kernels"])) {
          group = *other;
          opened = open();
        }
      Session& s = session(group);
      measured = s.ask({{"do", "measure"}, {"rounds", options_.rounds}, {"seconds", options_.seconds}},
                       patience + 20 * options_.seconds);
      closed = s.ask({{"do", "close"}}, patience);
      if (const std::optional<Culprit> found = culprit(group, opened, closed)) {
        lose(group, found->kernel, found->reason);
        group.kernels.erase(group.kernels.begin() + static_cast<std::ptrdiff_t>(found->kernel));
        closed = nullptr;
      }
    } catch (const SessionError& error) {
      for (const Kernel* k : group.kernels) {
        rows.push_back(row_of(group, *k));
        rows.back().status = BenchRow::Status::not_run;
        rows.back().reason = error.what();
      }
      return rows;
    } catch (const SessionDied& died) {
      session_.reset();
      if (died.by_others && !again) {
        again = true;
        continue;
      }
      if (died.kernel) {
        const std::optional<Culprit> found =
            died.surely ? std::nullopt : culprit(group, *died.kernel, died.what());
        const std::size_t guilty = found ? found->kernel : *died.kernel;
        lose(group, guilty, found ? found->reason : died.what());
        group.kernels.erase(group.kernels.begin() + static_cast<std::ptrdiff_t>(guilty));
        continue;
      }
      const std::vector<std::string> reasons = fatal(group);
      const bool somebody = std::ranges::any_of(reasons, [](const std::string& r) { return !r.empty(); });
      std::vector<const Kernel*> left;
      for (std::size_t i = 0; i < group.kernels.size(); ++i) {
        if (somebody && reasons[i].empty()) {
          left.push_back(group.kernels[i]);
          continue;
        }
        if (!somebody && !again) {
          left.push_back(group.kernels[i]);  // it may not happen again
          continue;
        }
        lose(group, i, somebody ? reasons[i] : died.what());
      }
      again = !somebody;
      group.kernels = left;
    }
  }

  const std::string device = opened["device"];
  const bool by_wall = device.empty() && group.threads > 1;
  const char* const clock = by_wall ? "wall" : "cpu";
  const std::string where = level(group.cache, opened);
  const std::size_t first = rows.size();
  std::vector<std::vector<double>> times;
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    BenchRow row = row_of(group, *group.kernels[i]);
    const Json& before = opened["kernels"][i];
    const Json& after = closed["kernels"][i];
    row.information = before["information"];
    row.device = device;
    row.dtype = opened["dtype"];
    row.bytes = opened["bytes"];
    row.operations = opened["operations"];
    row.functions = opened["functions"];
    times.push_back(numbers(measured["kernels"][i][clock]));
    if (after["status"] == "right") {
      row.status = BenchRow::Status::measured;
      row.by_wall = by_wall;
      row.rounds = times.back().size();
      row.calls = measured["kernels"][i]["calls"];
      row.ns = median_interval(times.back());
      row.contention = median_interval(numbers(measured["kernels"][i]["wall"])).median /
                       median_interval(numbers(measured["kernels"][i]["cpu"])).median;
      if (!by_wall) row.limit = bound_by(measured["limits"], row, times.back(), where);
      // PyTorch may write its results where caches still have them, which the limit does not know.
      const bool is_torch = modules_.of(*group.kernels[i]) == Modules::kOwn;
      if (!by_wall && device.empty() && !is_torch)
        if (std::string why = impossible_because(measured["limits"], row, opened, where); !why.empty()) {
          row.status = BenchRow::Status::impossible;
          row.reason = std::move(why);
        }
    } else {
      row.status = after["status"] == "refused" ? BenchRow::Status::refused : BenchRow::Status::failed;
      row.reason = after["reason"];
    }
    rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    BenchRow& row = rows[first + i];
    if (row.peer || row.status != BenchRow::Status::measured) continue;
    for (std::size_t p = 0; p < group.kernels.size(); ++p) {
      const BenchRow& peer = rows[first + p];
      if (!peer.peer || peer.status != BenchRow::Status::measured) continue;
      const Estimate ratio = ratio_interval(times[p], times[i]);
      if (!row.best_peer || ratio.median > row.best_peer->ratio.median) row.best_peer = {peer.impl, ratio};
    }
  }
  return rows;
}

}  // namespace assay
