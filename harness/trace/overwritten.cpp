#include "overwritten.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "../diff/compare.h"
#include "../files/tensor_data.h"
#include "../judge/expectation.h"
#include "../recorded/recorded_call.h"
#include "another.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

// Whether each of these elements is nearly what stands there.
bool explains(const TensorData& left, const KnownResult& came, const diff::Mask& diverging) {
  const double scale = largest_of(left);
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    const auto e = static_cast<std::size_t>(i);
    if (diverging[e] &&
        !is_nearly(came.data.get(i), left.get(i), scale, came.within.empty() ? 0 : 2 * came.within[e]))
      return false;
  }
  return true;
}

// What the reference gives where this stands for the argument that the call writes over.
std::optional<TensorData> as_computed(const RecordedCall& writer, const std::string& output,
                                      const std::string& memory, const TensorData& before) {
  if (find_operator(writer.op) == nullptr) return std::nullopt;
  Call call = replayable(writer).call;
  if (!call.error.empty()) return std::nullopt;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    auto* t = std::get_if<TensorData>(&call.arguments[i]);
    const std::string argument(call.op->schema.argument_storage[i].name);
    if (t == nullptr || note_of(writer, "from." + argument) != memory) continue;
    if (t->shape != before.shape || t->dtype != before.dtype) return std::nullopt;
    *t = before;
  }
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    if (output_name(*call.op, o) != output) continue;
    TensorData result(call.outputs[o].dtype, call.outputs[o].shape);
    result.memory = Expectation(call).rounded(static_cast<int>(o));
    return result;
  }
  return std::nullopt;
}

std::int64_t elements_of(const RecordedTensor& t) {
  return static_cast<std::int64_t>(t.data.size()) / bytes(t.dtype);
}

// A result in memory, which it may be a part of.
class Memory {
 public:
  Memory(const CaseFile& trace, std::size_t call, const std::string& output, TensorData result)
      : left(std::move(result)), name_(std::to_string(call) + ":" + output) {
    const auto part = parse_origin(note_of(trace.calls[call], "onto." + output));
    const RecordedTensor* whole = part ? recorded_result(trace, *part) : nullptr;
    const std::int64_t own = left.numel(), size = whole != nullptr ? elements_of(*whole) : own;
    index_.assign(static_cast<std::size_t>(size), -1);
    if (whole != nullptr && for_each_place(*part, left.shape, size, [&](std::int64_t i, std::int64_t at) {
          index_[static_cast<std::size_t>(at)] = i;
        })) {
      name_ = std::to_string(part->call) + ":" + part->result;
      return;
    }
    // No part of what the file names: memory of its own.
    index_.resize(static_cast<std::size_t>(own));
    std::iota(index_.begin(), index_.end(), std::int64_t{0});
  }

  TensorData left;  // what stands there

  bool is_all_written(const RecordedCall& writer, const std::string& output) const {
    return note_of(writer, "over." + output) == name_;
  }
  std::optional<Origin> part_written(const RecordedCall& writer, const std::string& output) const {
    auto part = parse_origin(note_of(writer, "onto." + output));
    return part && std::to_string(part->call) + ":" + part->result == name_ ? part : std::nullopt;
  }
  const std::string& name() const { return name_; }
  void becomes(std::string name) { name_ = std::move(name); }

  // What stands there when this was written over all of it, or a part; nothing if it does not fit.
  std::optional<TensorData> after(const TensorData& wrote, const std::optional<Origin>& part) const {
    TensorData result = left;
    const auto size = static_cast<std::size_t>(bytes(left.dtype));
    const auto put = [&](std::int64_t i, std::int64_t at) {
      if (const std::int64_t index = index_[static_cast<std::size_t>(at)]; index >= 0)
        std::memcpy(result.element(index), wrote.element(i), size);
    };
    const auto all = static_cast<std::int64_t>(index_.size());
    if (part) return for_each_place(*part, wrote.shape, all, put) ? std::optional(result) : std::nullopt;
    if (wrote.numel() != all) return std::nullopt;
    for (std::int64_t i = 0; i < all; ++i) put(i, i);
    return result;
  }

 private:
  static const RecordedTensor* recorded_result(const CaseFile& trace, const Origin& o) {
    if (o.call >= trace.calls.size()) return nullptr;
    const auto found = trace.calls[o.call].outputs.find(o.result);
    return found == trace.calls[o.call].outputs.end() || !found->second.actual ? nullptr
                                                                               : &*found->second.actual;
  }

  std::string name_;
  std::vector<std::int64_t>
      index_;  // of each place in the memory: which element of the result lies there, or -1
};

}  // namespace

std::optional<std::string> overwritten_by(const CaseFile& trace, const Dump& dump, std::size_t call,
                                          const std::string& output, diagnose::Evidence& evidence,
                                          const KnownResult& came) {
  int number = 0;
  while (output_name(*evidence.call().op, static_cast<std::size_t>(number)) != output) ++number;
  const Checked::Output& given = evidence.call().outputs[static_cast<std::size_t>(number)];
  if (came.data.dtype != given.dtype || came.data.shape != given.shape) return std::nullopt;
  TensorData right(given.dtype, given.shape);
  right.memory = evidence.expectation().rounded(number);
  Memory memory(trace, call, output, std::move(right));
  for (std::size_t k = call + 1; k < trace.calls.size(); ++k) {
    const RecordedCall& writer = trace.calls[k];
    for (const auto& [written, o] : writer.outputs) {
      if (!o.actual) continue;
      const bool all = memory.is_all_written(writer, written);
      const auto part = memory.part_written(writer, written);
      if (!all && !part) continue;
      std::vector<TensorData> candidates;
      if (const auto dumped = dump.result(k, written))
        if (auto same = exactly_as(dump.peek(dumped->name), came.data.dtype))
          candidates.push_back(std::move(*same));
      if (auto own = all ? as_computed(writer, written, memory.name(), memory.left) : std::nullopt)
        candidates.push_back(std::move(*own));
      candidates.push_back(tensor_of(*o.actual));
      std::optional<TensorData> first;
      for (const TensorData& wrote : candidates) {
        if (wrote.dtype != came.data.dtype || wrote.shape != o.actual->shape) continue;
        auto after = memory.after(wrote, part);
        if (!after) continue;
        if (explains(*after, came, evidence.mask(number))) return name_of(trace, k);
        if (!first) first = std::move(after);
      }
      if (!first) return std::nullopt;
      memory.left = std::move(*first);
      if (all) memory.becomes(std::to_string(k) + ":" + written);
    }
  }
  return std::nullopt;
}

}  // namespace assay
