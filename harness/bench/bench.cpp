#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../judge/judge.h"
#include "row_limits.h"
#include "statistics.h"
#include "vocabulary/check.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr double kAloneSeconds = 30;  // besides the time that its call may take

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

}  // namespace

BenchRow planned_row(const BenchGroup& group, const Kernel& kernel) {
  BenchRow row;
  const Case& c = group.bench_case->c;
  row.op = std::string(c.op->schema.name);
  row.case_text = text(c);
  for (const CaseValue& v : c.arguments)
    if (const auto* t = std::get_if<TensorSpec>(&v)) {
      row.dtype = std::string(name(t->dtype));
      break;
    }
  row.impl = row.planned = kernel.name;
  row.peer = kernel.peer;
  row.cache = name(group.cache);
  row.threads = group.threads;
  row.shape = group.bench_case->reason;
  return row;
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
          planned_row(group, kernel).dtype};
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
    rows.push_back(planned_row(asked, *k));
    rows.back().reason = untimed_because(*k, asked.cache);
  }
  BenchGroup group = options_.impls.empty() ? known(asked) : asked;
  // In whose place each of the group's kernels stands.
  std::vector<std::string> planned;
  for (const Kernel* k : asked.kernels) planned.push_back(k->name);
  Json opened, measured, closed;
  const auto row_of = [&](std::size_t i) {
    BenchRow row = planned_row(group, *group.kernels[i]);
    row.planned = planned[i];
    return row;
  };
  const auto lose = [&](std::size_t i, const std::string& reason) {
    rows.push_back(row_of(i));
    rows.back().status = BenchStatus::failed;
    rows.back().reason = reason;
  };
  const auto leave_out = [&](std::size_t i) {
    group.kernels.erase(group.kernels.begin() + static_cast<std::ptrdiff_t>(i));
    planned.erase(planned.begin() + static_cast<std::ptrdiff_t>(i));
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
        lose(found->kernel, found->reason);
        leave_out(found->kernel);
        closed = nullptr;
      }
    } catch (const SessionError& error) {
      for (std::size_t i = 0; i < group.kernels.size(); ++i) {
        rows.push_back(row_of(i));
        rows.back().status = BenchStatus::not_run;
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
        lose(guilty, found ? found->reason : died.what());
        leave_out(guilty);
        continue;
      }
      const std::vector<std::string> reasons = fatal(group);
      const bool somebody = std::ranges::any_of(reasons, [](const std::string& r) { return !r.empty(); });
      std::vector<std::size_t> lost;
      for (std::size_t i = 0; i < group.kernels.size(); ++i)
        if (somebody ? !reasons[i].empty() : again) {  // the first time, it may not happen again
          lose(i, somebody ? reasons[i] : died.what());
          lost.push_back(i);
        }
      for (; !lost.empty(); lost.pop_back()) leave_out(lost.back());
      again = !somebody;
    }
  }

  const std::string device = opened["device"];
  const bool by_wall = device.empty() && group.threads > 1;
  const char* const clock = by_wall ? "wall" : "cpu";
  const std::string where = level(group.cache, opened);
  const std::size_t first = rows.size();
  std::vector<std::vector<double>> times;
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    BenchRow row = row_of(i);
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
      row.status = BenchStatus::measured;
      row.clock = !device.empty() ? "device" : clock;
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
          row.status = BenchStatus::impossible;
          row.reason = std::move(why);
        }
    } else {
      row.status = after["status"] == "refused" ? BenchStatus::refused : BenchStatus::failed;
      row.reason = after["reason"];
    }
    rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    BenchRow& row = rows[first + i];
    if (row.peer || row.status != BenchStatus::measured) continue;
    for (std::size_t p = 0; p < group.kernels.size(); ++p) {
      const BenchRow& peer = rows[first + p];
      if (!peer.peer || peer.status != BenchStatus::measured) continue;
      const Estimate ratio = ratio_interval(times[p], times[i]);
      if (!row.best_peer || ratio.median > row.best_peer->ratio.median) row.best_peer = {peer.impl, ratio};
    }
  }
  return rows;
}

}  // namespace assay
