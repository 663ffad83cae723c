#include "bisect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "../diagnose/rounding.h"
#include "../files/tensor_data.h"
#include "../recorded/recorded_call.h"
#include "absent.h"
#include "another.h"
#include "another_shape.h"
#include "cause_finder.h"
#include "dump.h"
#include "dumped.h"
#include "graph/recurrent.h"
#include "inputs.h"
#include "overwritten.h"
#include "recurrent_call.h"
#include "recurrent_weights.h"
#include "reports/journal.h"
#include "uncertain.h"
#include "unknown_operator.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using diagnose::Blame;
using diagnose::Evidence;
using diagnose::Rounding;
using Status = BisectedCall::Status;

const std::map<Blame, Status> kStatuses{{Blame::parameters, Status::parameters},
                                        {Blame::input, Status::changed},
                                        {Blame::packing, Status::packing},
                                        {Blame::changed, Status::changed}};

const Operator* operator_of(const RecordedCall& call) {
  for (const Operator* op : operators())
    if (op->schema.name == call.op) return op;
  return nullptr;
}

class Bisector {
 public:
  Bisector(const CaseFile& trace, const TensorFile& file, const BisectOptions& options)
      : trace_(trace),
        nodes_(options.nodes.empty() ? EngineNodes() : read_engine_nodes(options.nodes)),
        file_(file, nodes_),
        matched_(options.nodes.empty() ? match_names(trace, file_, options.map) : match_nodes(trace, file_, nodes_)),
        dump_(trace, file_, options.map, matched_, precision_of(nodes_)),
        options_(options),
        contract_(contract_of(options, nodes_)),
        readers_(trace),
        foldings_(trace, readers_, dump_),
        inputs_(trace, dump_, results_, foldings_),
        absent_(trace, dump_, results_, inputs_, readers_, foldings_, contract_, options.diagnosis),
        causes_(trace, dump_, results_, absent_, file.path(), options) {}

  // `known`: what was found before the run went on. Then causes are not looked for again; the numbers that follow are still needed.
  BisectedCall call(std::size_t k, const BisectedCall* known) {
    is_known_ = known != nullptr;
    BisectedCall result = judged(k);
    if (is_known_) result = *known;
    if (writes_over_parts(trace_.calls[k])) write_over(results_, trace_, k);
    return result;
  }

  const Dump& dump() const { return dump_; }
  std::vector<std::string> unused() const {
    std::vector<std::string> all = dump_.unused();
    std::erase_if(all, [&](const std::string& name) { return file_.is_part(name); });
    return all;
  }
  const Matched& matched() const { return matched_; }
  const EngineNodes& nodes() const { return nodes_; }

 private:
  static std::string contract_of(const BisectOptions& options, const EngineNodes& nodes) {
    if (!options.contract.empty() || options.nodes.empty()) return options.contract;
    const auto precision = precision_of(nodes);
    return std::string(diagnose::kOfEngines) +
           (precision ? fmt::format(" multiply={}", name(*precision)) : std::string());
  }

  BisectedCall judged(std::size_t k) {
    const RecordedCall& recorded = trace_.calls[k];
    BisectedCall result;
    result.name = name_of(trace_, k);
    const std::string layer = note_of(recorded, "layer");
    result.op = layer.empty() ? recorded.op : layer;
    result.source = note_of(recorded, "source");
    result.case_text = recorded.case_text;
    for (const auto& [output, o] : recorded.outputs)
      if (o.actual && !is_memory_of_its_own(recorded, k, output))
        result.elements += static_cast<std::uint64_t>(std::max<std::int64_t>(0, numel(o.actual->shape)));
    if (operator_of(recorded) == nullptr) {
      without_reference(k, result);
      return result;
    }
    // Its graph reads what the engine gave.
    if (!layer.empty() && !dump_.result(k, output_name(*operator_of(recorded), 0))) {
      without_reference(k, result);
      result.has_reference = true;
      if (result.status == Status::no_reference) result.status = Status::not_dumped;
      return result;
    }
    const Replayable r = replayable(recorded);
    if (!r.call.error.empty()) {
      without_reference(k, result);
      result.says.insert(result.says.begin(), fmt::format("its arguments are not allowed: {}", r.call.error));
      if (result.status == Status::no_reference) result.status = Status::not_judged;
      return result;
    }
    compare(k, r.call, result);
    return result;
  }

  void compare(std::size_t k, const Call& torchs, BisectedCall& result) {
    Call engines = torchs;
    if (result.elements == 0)  // a trace may have inputs alone
      for (const Checked::Output& o : torchs.outputs) result.elements += static_cast<std::uint64_t>(numel(o.shape));
    bool inherited = false;
    Standing standing;
    std::vector<std::vector<double>> within(engines.arguments.size());
    for (std::size_t i = 0; i < engines.arguments.size(); ++i)
      if (auto* t = std::get_if<TensorData>(&engines.arguments[i])) {
        const std::string argument(engines.op->schema.argument_storage[i].name);
        auto given = inputs_.read(k, argument, *t, result);
        absent_.keep(k, argument, *t, given);
        inherited = inherited || given.inherited;
        within[i] = std::move(given.within);
        standing.add(argument, std::move(given));
      }
    ExpectedOutputs dumped(engines.outputs.size());
    Rounding stored;
    stored.stored.resize(engines.outputs.size());
    std::map<std::size_t, TensorData> misshapen;
    bool any = false;
    for (std::size_t o = 0; o < engines.outputs.size(); ++o) {
      const std::string output = output_name(*engines.op, o);
      auto found = result_of(dump_, k, output, engines.outputs[o], result);
      if (!found) continue;
      if (found->data.shape != engines.outputs[o].shape) {
        misshapen.emplace(o, std::move(found->data));
        continue;
      }
      if (o == 0) if (const auto right = recorded_first(k)) result.signal_to_noise = signal_to_noise(*right, found->data);
      dumped[o] = found->data.packed();
      stored.stored[o] = found->narrower;
      KnownResult known{std::move(found->data), {}};
      if (found->narrower) known.within = diagnose::lost_of(known.data, *found->narrower);
      inputs_.read_by_consumer(k, output, known.data, result);
      results_[{k, output}] = std::move(known);
      any = true;
    }
    remember_memory(k);
    if (recurrent_layer_of(*engines.op) != nullptr) {
      if (const auto own = results_.find({k, output_name(*engines.op, 0)}); own != results_.end())
        take_states(engines, own->second, within);
      if (auto how = result.blames.contains(Blame::parameters) ? parameters_as(torchs, engines) : std::nullopt)
        result.says.push_back(std::move(*how));
    }
    Rounding rounding = stored;
    rounding.moved = diagnose::moved_within(engines, within);
    const Contract contract = diagnose::contract_or_strangers(contract_, engines);
    std::optional<Evidence> judged(std::in_place, engines, contract, dumped, rounding);
    if (any && judged->diverging() > 0 && forget_overwritten(k, *judged, dumped, result)) {
      any = std::ranges::any_of(dumped, [](const auto& d) { return d.has_value(); });
      judged.emplace(engines, contract, dumped, rounding);
    }
    if (any && judged->diverging() > 0 && misshapen.empty() && standing.lost_in.empty() &&
        absent_.forget_named_for_another(k, *judged, dumped, result)) {
      any = false;
      judged.emplace(engines, contract, dumped, rounding);
    }
    std::optional<JudgedRegion> together;
    if (any && !is_known_ && !standing.assumed.empty() && standing.lost_in.empty() && misshapen.empty())
      together = absent_.judged(k, *judged, dumped, result);
    Evidence &own = *judged, &evidence = together ? *together->evidence : own;
    if (any && evidence.diverging() > 0 && !standing.lost_in.empty()) {
      result.status = Status::not_judged;
      result.says.push_back(fmt::format(
          "its {0} follows from other numbers than PyTorch's, or from random ones, through {1}, which Assay cannot compute: "
          "with \"{2}:{0}\" in the dump it could be judged",
          standing.lost_argument, standing.lost_in, result.name));
    } else if (any && evidence.diverging() > 0) {
      result.status = Status::wrong;
      result.one_of.insert(standing.assumed.begin(), standing.assumed.end());
      if (!is_known_) causes_.find(k, own, together ? &*together : nullptr, result);
    } else if (!misshapen.empty()) {
      result.status = Status::wrong;
    } else if (!result.blames.empty()) {
      result.status = kStatuses.at(*result.blames.begin());
    } else if (any) {
      const bool others = together ? together->region->inherited
                                   : inherited && Evidence(torchs, contract, dumped, stored).diverging() > 0;
      result.status = others ? Status::inherited : Status::right;
      if (options_.contract.empty() && !is_known_)
        causes_.doubt(own, together ? &*together : nullptr, result);
    }
    bool all_dumped = true;
    // Results that the dump does not have: what the reference gives for the engine's own inputs.
    for (std::size_t o = 0; o < engines.outputs.size(); ++o) {
      const std::string output = output_name(*engines.op, o);
      if (results_.contains({k, output})) continue;
      TensorData t(engines.outputs[o].dtype, engines.outputs[o].shape);
      t.memory = own.expectation().rounded(static_cast<int>(o));
      all_dumped = false;
      if (const auto other = misshapen.find(o); other != misshapen.end()) {
        if (const auto same = exactly_as(other->second, t.dtype))
          if (auto from = rearranged_from(t, *same)) {
            result.says.push_back(fmt::format(
                "{}: its shape is [{}] instead of [{}]; rearranged: its dimensions in the order ({})", output,
                text(same->shape), text(t.shape), fmt::join(from->order, ", ")));
            results_[{k, output}] = {std::move(from->before), {}};
            continue;
          }
        result.says.push_back(fmt::format("{}: {}", output, diagnose::change(t, other->second)));
      }
      KnownResult computed{
          std::move(t),
          within_bounds(own.expectation(), static_cast<int>(o), contract,
                        o < rounding.moved.size() ? rounding.moved[o] : std::vector<double>()),
          true};
      add_to(computed.within, inputs_.lost_if_kept(computed.data));
      computed.assumed = standing.assumed;
      computed.assumed.emplace(k, result.name);
      computed.lost_in = standing.lost_in;
      results_[{k, output}] = std::move(computed);
    }
    if (all_dumped) absent_.forget(k);
  }

  // Of the call's first result; nothing if the trace does not have it.
  std::optional<TensorData> recorded_first(std::size_t k) const {
    for (const auto& [output, o] : trace_.calls[k].outputs)
      if (o.actual && (output == "out" || output == "out0")) return tensor_of(*o.actual);
    return std::nullopt;
  }

  static void add_to(std::vector<double>& within, const std::vector<double>& lost) {
    if (within.empty()) within.assign(lost.size(), 0.0);
    for (std::size_t e = 0; e < lost.size(); ++e) within[e] += lost[e];
  }

  // What is known of all that a call was given.
  struct Standing {
    Assumed assumed;
    std::string lost_in, lost_argument;

    void add(const std::string& argument, SeenInputs::Given given) {
      assumed.merge(given.assumed);
      if (!lost_in.empty() || given.lost_in.empty()) return;
      lost_in = given.lost_in;
      lost_argument = argument;
    }
  };

  // Memory that a result was written into a part of, and that no call has given: the program's own, as its inputs are. What is known
  // of the call's results stays: a file may give any of them that name.
  void remember_memory(std::size_t k) {
    for (const auto& [out, o] : trace_.calls[k].outputs)
      if (o.actual && is_memory_of_its_own(trace_.calls[k], k, out))
        results_.try_emplace({k, out}, KnownResult{tensor_of(*o.actual), {}, true});
  }

  // Results that a later call has written over, in place as the program has it, before they were dumped: they are not in the dump then.
  bool forget_overwritten(std::size_t k, Evidence& evidence, ExpectedOutputs& dumped, BisectedCall& result) {
    bool any = false;
    for (std::size_t o = 0; o < dumped.size(); ++o) {
      if (!dumped[o] || evidence.mask(static_cast<int>(o)).count() == 0) continue;
      const std::string output = output_name(*evidence.call().op, o);
      const auto writer = overwritten_by(trace_, dump_, k, output, evidence, results_.at({k, output}));
      if (!writer) continue;
      result.says.push_back(
          fmt::format("{} of the dump is what {} wrote over it in place, and says nothing of this call",
                      output, *writer));
      dumped[o].reset();
      results_.erase({k, output});
      any = true;
    }
    return any;
  }

  // PyTorch's results stand for a reference, as far as the inputs are PyTorch's.
  void without_reference(std::size_t k, BisectedCall& result) {
    const RecordedCall& recorded = trace_.calls[k];
    result.status = Status::no_reference;
    remember_memory(k);
    Standing standing;
    bool others = false;
    for (const auto& [argument, input] : recorded.inputs) {
      if (argument == "self" && overwrites(recorded.op)) continue;
      const TensorData torchs = tensor_of(input);
      TensorData engines = torchs;
      auto given = inputs_.read(k, argument, engines, result);
      absent_.keep(k, argument, engines, given);
      others = others || !are_alike(engines, torchs, given.within);
      standing.add(argument, std::move(given));
    }
    for (const auto& [out, o] : recorded.outputs) {
      if (!o.actual || is_memory_of_its_own(recorded, k, out)) continue;
      const TensorData torchs = tensor_of(*o.actual);
      const auto found = result_of(dump_, k, out, {torchs.dtype, torchs.shape}, result);
      if (!found) {
        results_[{k, out}] = undumped(k, torchs, standing, others);
        continue;
      }
      if (found->data.shape != torchs.shape) {
        result.says.push_back(fmt::format("{}: {}", out, diagnose::change(torchs, found->data)));
        result.status = Status::wrong;
        continue;
      }
      const bool alike = found->narrower
                             ? diagnose::may_be_rounded(torchs, diagnose::lost_of(torchs, torchs.dtype),
                                                        *exactly_as(found->data, *found->narrower))
                             : are_alike(found->data, torchs);
      // No rounding is a reason for what only moves numbers.
      if (!alike && only_moves(recorded.op) && !others && standing.lost_in.empty() &&
          standing.assumed.empty()) {
        result.status = Status::wrong;
        if (const auto how = absent_.joined(k, found->data)) result.says.push_back(fmt::format("{}: {}", out, *how));
      }
      if (!alike)
        result.says.push_back(fmt::format("{} differs from PyTorch's{}: {}", out,
                                          others ? ", as do its inputs"
                                          : standing.lost_in.empty() && standing.assumed.empty()
                                              ? ", and its inputs do not"
                                              : ", and what it was given is not all in the dump",
                                          diagnose::change(torchs, found->data)));
      results_[{k, out}] = {found->data, found->narrower ? diagnose::lost_of(found->data, *found->narrower)
                                                         : std::vector<double>()};
    }
    if (result.status != Status::wrong && !result.blames.empty())
      result.status = kStatuses.at(*result.blames.begin());
    result.has_reference = false;
  }

  // A result that the dump does not have, of a call that cannot be computed again.
  KnownResult undumped(std::size_t k, const TensorData& torchs, const Standing& standing, bool others) const {
    const std::string name = name_of(trace_, k);
    KnownResult known{torchs, within_nearly(torchs), true};
    known.assumed = standing.assumed;
    known.lost_in = !standing.lost_in.empty()                 ? standing.lost_in
                    : others || is_random(trace_.calls[k].op) ? name
                                                              : std::string();
    if (auto moved = absent_.moved(k);
        moved && moved->data.shape == torchs.shape && moved->data.dtype == torchs.dtype) {
      known = std::move(*moved);
      known.assumed = standing.assumed;
      known.lost_in = standing.lost_in;
    }
    if (auto copy = copied(results_, trace_.calls[k], torchs)) known = std::move(*copy);
    known.assumed.emplace(k, name);
    return known;
  }

  const CaseFile& trace_;
  bool is_known_ = false;
  const EngineNodes nodes_;
  const RecurrentWeights file_;
  const Matched matched_;
  Dump dump_;
  const BisectOptions& options_;
  const std::string contract_;  // of the engine's kernels; empty: that of strangers
  KnownResults results_;  // the engine's
  Readers readers_;
  Foldings foldings_;
  SeenInputs inputs_;
  Absent absent_;
  CauseFinder causes_;
};

}  // namespace

bool Bisection::any_finding() const { return std::ranges::any_of(calls, &BisectedCall::is_finding); }

bool Bisection::any_doubt() const {
  const BisectedCall* last = nullptr;
  bool any = false;
  for (const BisectedCall& c : calls) {
    any = any || c.status == Status::undecided;
    if (!c.dumped_as.empty()) last = &c;
  }
  return any && (last->status == Status::undecided || last->status == Status::inherited ||
                 (last->status == Status::no_reference && !last->says.empty()));
}

Bisection bisect(const CaseFile& trace, const TensorFile& dump, const BisectOptions& options,
                 const std::function<void(const std::string&)>& progress) {
  Bisection b;
  b.dump = dump.path();
  Bisector bisector(trace, dump, options);
  const auto begin = std::chrono::steady_clock::now();
  const double before = options.journal == nullptr ? 0 : options.journal->before();
  if (options.journal != nullptr) options.journal->begin(nlohmann::json::parse(to_json(b)));
  for (std::size_t k = 0; k < trace.calls.size(); ++k) {
    progress(fmt::format("{} of {}: {}", k + 1, trace.calls.size(), trace.calls[k].name));
    const std::string key = fmt::format("call {}", k);
    const JournalEntry* const entry = options.journal == nullptr ? nullptr : options.journal->find(key);
    std::optional<BisectedCall> known;
    if (entry != nullptr) known = call_of(entry->add.at("calls").at(0), entry->more);
    b.calls.push_back(bisector.call(k, known ? &*known : nullptr));
    if (options.journal == nullptr || known) continue;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    options.journal->add(key, before + taken.count(),
                         {{"calls", nlohmann::json::array({kept_call(b.calls.back())})}},
                         more_of(b.calls.back()));
  }
  b.engine = bisector.nodes().engine;
  b.settings = bisector.nodes().settings;
  b.by_module = bisector.matched().by_module;
  b.by_numbers = bisector.matched().by_numbers;
  b.by_place = bisector.matched().by_place;
  b.written = bisector.dump().written();
  b.unused = bisector.unused();
  for (const UnsupportedEntry& u : dump.unsupported()) b.unread.push_back(u.reason);
  return b;
}

}  // namespace assay
