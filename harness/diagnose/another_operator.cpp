#include "another_operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "known_functions.h"
#include "linear.h"
#include "rounding.h"
#include "strictest.h"
#include "vocabulary/case.h"
#include "vocabulary/check.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kFirstLooked = 8, kLeastNumbersOfAnother = 6;
constexpr double kNarrow = 0x1p-6;  // of a bound, that says something
constexpr double kNearly = 0x1p-19, kOfInputs = 0.25, kFar = 100;

bool is_same_type(const Argument& a, const Argument& b) { return a.type == b.type && a.list == b.list; }

// The same call of another operator, and the names that its arguments have in the call that was asked for; of those that it has not
// got, none. Tensors that it names otherwise stand in their order.
struct AsCall {
  Call call;
  std::vector<std::string_view> given;
};

// What that needs and this has not got is the choice of this number: false or true, or one of the words that the argument may be. Where
// it may leave a boolean out, the first choice is to do so.
std::optional<AsCall> as_call_of(const Operator& op, const Call& call, std::size_t choice,
                                 std::size_t& choices) {
  AsCall as;
  Call& other = as.call;
  other.op = &op;
  const std::span<const Argument> own_arguments = call.op->schema.arguments();
  std::vector<bool> used(call.arguments.size());
  for (const Argument& a : op.schema.arguments())
    if (const int own = call.op->schema.find(a.name); own >= 0) used[static_cast<std::size_t>(own)] = true;
  const auto next_tensor = [&]() -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < used.size(); ++i)
      if (!used[i] && std::holds_alternative<TensorData>(call.arguments[i])) {
        used[i] = true;
        return i;
      }
    return std::nullopt;
  };
  const auto take = [&](std::size_t own) {
    other.arguments.push_back(call.arguments[own]);
    as.given.push_back(own_arguments[own].name);
  };
  for (const Argument& a : op.schema.arguments()) {
    const int own = call.op->schema.find(a.name);
    if (own >= 0 && is_same_type(a, own_arguments[static_cast<std::size_t>(own)])) {
      take(static_cast<std::size_t>(own));
      continue;
    }
    if (a.is_tensor() && !a.list && !a.optional) {
      const auto tensor = next_tensor();
      if (!tensor) return std::nullopt;
      take(*tensor);
      continue;
    }
    as.given.emplace_back();
    if (const Domain& d = domain(op, a.name); d.kind == Domain::Kind::one_of && a.type == Type::string) {
      // Left out, too, where it may be.
      const std::size_t n = d.choices.size() + (a.optional ? 1 : 0);
      choices = std::max(choices, n);
      const std::size_t at = std::min(choice, n - 1);
      if (at < d.choices.size())
        other.arguments.emplace_back(std::string(d.choices[at]));
      else
        other.arguments.emplace_back(None{});
    } else if (a.has_default && a.type == Type::boolean && !a.list && choice > 0) {
      other.arguments.emplace_back(!std::get<bool>(default_value(a)));
    } else if (a.has_default) {
      if (a.type == Type::boolean && !a.list) choices = std::max<std::size_t>(choices, 2);
      other.arguments.push_back(std::visit(
          [](const auto& v) -> CallValue {
            using V = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<V, TensorSpec> || std::is_same_v<V, std::vector<TensorSpec>>)
              return None{};
            else
              return v;
          },
          default_value(a)));
    } else if (a.optional) {
      other.arguments.emplace_back(None{});
    } else if (a.type == Type::boolean && !a.list) {
      choices = std::max<std::size_t>(choices, 2);
      other.arguments.emplace_back(choice > 0);
    } else {
      return std::nullopt;
    }
  }
  // Tensors that it does not look at make it another function of fewer.
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (std::holds_alternative<TensorData>(call.arguments[i]) &&
        std::ranges::find(as.given, own_arguments[i].name) == as.given.end())
      return std::nullopt;
  const Checked checked = check_arguments(op, Arguments(other).values());
  if (!checked.ok() || checked.outputs.empty()) return std::nullopt;
  other.outputs = checked.outputs;
  other.output_layouts.resize(checked.outputs.size());
  return as;
}

// Whether an argument is as who leaves it out has it.
bool is_default(const Argument& a, const CallValue& value) {
  if (std::holds_alternative<None>(value)) return true;
  if (!a.has_default) return false;
  return std::visit(
      [&](const auto& given) {
        using V = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<V, TensorData> || std::is_same_v<V, std::vector<TensorData>> ||
                      std::is_same_v<V, None>) {
          return false;
        } else {
          const CaseValue left_out = default_value(a);
          const V* same = std::get_if<V>(&left_out);
          return same != nullptr && *same == given;
        }
      },
      value);
}

// "mul.Tensor(self, mat2)": what was given, by its name in the call that was asked for, and what somebody must have chosen.
std::string call_text(const AsCall& as) {
  std::vector<std::string> arguments;
  const std::span<const Argument> all = as.call.op->schema.arguments();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CallValue& value = as.call.arguments[i];
    if (is_default(all[i], value)) continue;
    if (!as.given[i].empty())
      arguments.emplace_back(as.given[i]);
    else if (const auto* word = std::get_if<std::string>(&value))
      arguments.push_back(fmt::format("{}={}", all[i].name, *word));
    else
      arguments.push_back(fmt::format("{}={}", all[i].name, std::get<bool>(value)));
  }
  return fmt::format("{}({})", as.call.op->schema.name, fmt::join(arguments, ", "));
}

struct Agrees {
  std::string text;
  bool of_all = true, is_exact = true;
};

class Candidates {
 public:
  explicit Candidates(std::span<Evidence* const> calls) : calls_(calls) {}

  std::optional<AnotherOperator> find() {
    if (!has_enough()) return std::nullopt;
    std::optional<AnotherOperator> found;
    std::set<std::string_view> bases;
    for (const bool exactly : {true, false}) {
      for (const Operator* op : operators()) {
        // Nobody takes a graph for an operator.
        if (op == calls_[0]->call().op || op->graph != nullptr ||
            find_reference(op->schema.name) == nullptr || bases.contains(op->schema.base))
          continue;
        for (std::size_t choice = 0, choices = 1; choice < choices; ++choice) {
          stop_now();
          if (const auto agrees = is_of(*op, choice, exactly, choices)) {
            bases.insert(op->schema.base);
            const std::string name = fmt::format("results.of_{}", op->schema.name);
            if (!found)
              found = {name,
                       fmt::format("gives the result of {}{}", agrees->text,
                                   exactly ? "" : ", less accurately than common libraries have it"),
                       {},
                       agrees->of_all,
                       exactly};
            else
              found->as_well.push_back({name, fmt::format("gives the result of {}", agrees->text)});
          }
        }
      }
      if (found) return found;
    }
    return found;
  }

 private:
  bool has_enough() const {
    std::set<double> different;
    for (const Evidence* e : calls_)
      for (const Element& t : e->tried())
        if (t.diverges && std::isfinite(t.actual)) different.insert(t.actual);
    return different.size() >= kLeastNumbersOfAnother;
  }

  // Whether all results are right ones of this operator; or else so near to these, and so far from those of the one that was asked for,
  // that they are of a kernel that errs more.
  std::optional<Agrees> is_of(const Operator& op, std::size_t choice, bool exactly, std::size_t& choices) {
    Agrees agrees{{}, true, exactly};
    for (Evidence* e : calls_) {
      const std::optional<AsCall> as = as_call_of(op, e->call(), choice, choices);
      if (!as || !has_outputs_of(as->call, *e)) return std::nullopt;
      const Call* const other = &as->call;
      if (agrees.text.empty()) agrees.text = call_text(*as);
      if (!exactly) {
        if (!is_nearly(*e, *other)) return std::nullopt;
        continue;
      }
      if (!begins_well(*e, *other)) return std::nullopt;
      ExpectedOutputs actual(other->outputs.size());
      for (std::size_t o = 0; o < e->call().outputs.size(); ++o)
        if (e->has(static_cast<int>(o))) actual[o] = e->packed(static_cast<int>(o));  // has_outputs_of()
      Evidence judged(*other, contract(*e, *other), std::move(actual), e->rounding());
      if (judged.diverging() > 0 || judged.undecidable() > 0) return std::nullopt;
      agrees.of_all = agrees.of_all && judged.judged() == judged.elements();
    }
    return agrees;
  }

  // Whether every element is within some errors of f32 of the other operator's result, in numbers of the size of its inputs, and most of
  // those that diverge are very much farther from what is right.
  static bool is_nearly(Evidence& e, const Call& other) {
    if (e.call().outputs.size() != 1 || e.expectation().integers(0) != nullptr || !e.has(0)) return false;
    const Arguments arguments(other);
    const auto evaluation =
        find_reference(other.op->schema.name)->evaluate(arguments.values(), other.outputs);
    const double unit = format(e.stored(0)).unit;
    const std::vector<double>& right = e.expectation().values(0);
    const auto tolerance = [&](double x) {
      return kNearly * std::max(std::fabs(x), kOfInputs) + 2 * unit * std::fabs(x);
    };
    std::size_t far = 0;
    for (const Element& t : e.tried()) {
      const double x = evaluation->interval(0, t.at, contract(e, other)).value;
      if (!std::isfinite(x) || !std::isfinite(t.actual)) return false;
      if (std::fabs(t.actual - x) > tolerance(x)) return false;
      far += t.diverges && std::fabs(t.actual - t.right.value) > kFar * tolerance(x) ? 1 : 0;
    }
    if (10 * far < 9 * e.tried_diverging()) return false;
    std::vector<double> values(right.size());
    evaluation->values(0, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const double came = e.actual(0, static_cast<std::int64_t>(i));
          !(std::fabs(came - values[i]) <= tolerance(values[i])))
        return false;
    return true;
  }

  static Contract contract(const Evidence& e, const Call& other) {
    return e.call().outputs[0].computed_in == other.outputs[0].computed_in
               ? e.contract()
               : contract_or_strangers("", other);
  }

  // Of those that somebody's kernel gave: the values of a pooling, where nobody asked for the places.
  static bool has_outputs_of(const Call& other, const Evidence& e) {
    const Call& call = e.call();
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      if (!e.has(static_cast<int>(o))) continue;
      if (o >= other.outputs.size() || other.outputs[o].shape != call.outputs[o].shape ||
          other.outputs[o].dtype != call.outputs[o].dtype)
        return false;
    }
    return true;
  }

  // A few elements say of most operators that it is none of them, without the whole result.
  static bool begins_well(Evidence& e, const Call& other) {
    const Arguments arguments(other);
    const auto evaluation =
        find_reference(other.op->schema.name)->evaluate(arguments.values(), other.outputs);
    const Contract by = contract(e, other);
    const std::size_t step = std::max<std::size_t>(1, e.tried_diverging() / kFirstLooked);
    std::size_t narrow = 0, looked_at = 0;
    for (std::size_t i = 0; i < e.tried_diverging(); i += step) {
      const Element& t = e.tried()[i];
      Interval admitted = evaluation->interval(t.output, t.at, by);
      if (!e.rounding().stored.empty()) admitted = e.rounding().widened(std::move(admitted), t.output, t.at);
      if (!admitted.contains(t.actual)) return false;
      ++looked_at;
      narrow += admitted.upper - admitted.lower <= kNarrow * std::fabs(admitted.value) ? 1 : 0;
    }
    return 2 * narrow > looked_at;
  }

  std::span<Evidence* const> calls_;
};

}  // namespace

std::optional<AnotherOperator> another_operator(std::span<Evidence* const> calls) {
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    if (auto found = Candidates(calls).find()) return found;
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  std::optional<KnownFunction> function = known_function(calls);
  if (!function) return std::nullopt;
  AnotherOperator found{function->name, std::move(function->says), {}, true, true};
  for (std::string& says : function->as_well) found.as_well.push_back({function->name, std::move(says)});
  return found;
}

}  // namespace assay::diagnose
