#include "moved.h"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "../diagnose/rounding.h"
#include "graph/movement.h"
#include "vocabulary/case.h"

namespace assay {
namespace {

CallValue value_of(const CaseValue& v) {
  return std::visit(
      [](const auto& x) -> CallValue {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, TensorSpec> || std::is_same_v<T, std::vector<TensorSpec>>)
          return None{};
        else
          return x;
      },
      v);
}

const GivenCall::Argument* written(const GivenCall& call, std::string_view name) {
  for (const GivenCall::Argument& a : call.arguments)
    if (a.name == name) return &a;
  return nullptr;
}

std::optional<KnownResult> made(const Movement* movement, const GivenCall& given) {
  Operator as_operator;
  as_operator.schema = movement->schema;
  Call call;
  call.op = &as_operator;
  std::vector<const GivenTensor*> tensors;
  for (const Argument& a : movement->schema.arguments()) {
    const GivenCall::Argument* own = written(given, a.name);
    if (a.is_tensor()) {
      if (own == nullptr) return std::nullopt;
      std::vector<TensorData> all;
      for (const std::string& key : own->tensors) {
        const auto known = given.tensors.find(key);
        if (known == given.tensors.end()) return std::nullopt;
        tensors.push_back(&known->second);
        all.push_back(known->second.data);
      }
      if (all.empty()) return std::nullopt;
      call.arguments.emplace_back(a.list ? CallValue(std::move(all)) : CallValue(std::move(all.at(0))));
    } else {
      call.arguments.push_back(value_of(own != nullptr ? parse_argument(own->text, a) : default_value(a)));
    }
  }
  const Moved moved = movement->move(Arguments(call).values()).at(0);
  KnownResult result{TensorData(moved.dtype, moved.shape), {}, true};
  std::vector<double> within(static_cast<std::size_t>(result.data.numel()), 0.0);
  bool uncertain = false;
  for (std::int64_t n = 0; n < result.data.numel(); ++n) {
    const Moved::Place place = moved.from(n);
    const GivenTensor& from = *tensors.at(place.tensor);
    if (moved.rounded_to)
      result.data.set(n, from.data.get(place.element));
    else
      std::memcpy(result.data.element(n), from.data.element(place.element),
                  static_cast<std::size_t>(bytes(moved.dtype)));
    if (from.within.empty()) continue;
    uncertain = true;
    within[static_cast<std::size_t>(n)] = from.within[static_cast<std::size_t>(place.element)];
  }
  if (uncertain && moved.rounded_to) {
    const std::vector<double> lost = diagnose::lost_of(result.data, moved.dtype);
    for (std::size_t n = 0; n < within.size(); ++n) within[n] += lost[n];
  }
  if (uncertain) result.within = std::move(within);
  return result;
}

}  // namespace

std::optional<KnownResult> moved_by(const GivenCall& given) {
  const Movement* movement = find_movement(given.node);
  if (movement == nullptr) return std::nullopt;
  try {
    return made(movement, given);
  } catch (const std::invalid_argument&) {  // what a file says of it is no call
    return std::nullopt;
  }
}

}  // namespace assay
