#include "reached.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../run/batch.h"
#include "../run/check.h"

namespace assay {
namespace {

struct Surroundings {
  std::string described;
  bool output = false;
};

// In the order of Task::finite.
std::vector<Surroundings> surroundings_of(const Call& call) {
  std::vector<Surroundings> all;
  const auto add = [&](int argument, int item, int output, Dtype dtype, const Shape& shape,
                       std::int64_t elements) {
    Buffer b;
    b.argument = argument;
    b.item = item;
    b.output = output;
    b.dtype = dtype;
    b.shape = &shape;
    b.bytes = static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes(dtype));
    all.push_back({described(b, *call.op), output >= 0 && argument < 0});
  };
  const auto input = [&](const TensorData& t, int argument, int item) {
    add(argument, item, argument == call.in_place ? 0 : -1, t.dtype, t.shape,
        t.strided.offset + t.strided.span);
  };
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (const auto* t = std::get_if<TensorData>(&call.arguments[i])) input(*t, static_cast<int>(i), -1);
    if (const auto* list = std::get_if<std::vector<TensorData>>(&call.arguments[i]))
      for (std::size_t k = 0; k < list->size(); ++k)
        input((*list)[k], static_cast<int>(i), static_cast<int>(k));
  }
  for (std::size_t o = call.in_place >= 0 ? 1 : 0; o < call.outputs.size(); ++o) {
    const Strided s =
        strided(call.outputs[o].shape, o < call.output_layouts.size() ? call.output_layouts[o] : Layout{});
    add(-1, -1, static_cast<int>(o), call.outputs[o].dtype, call.outputs[o].shape, s.offset + s.span);
  }
  return all;
}

std::string shown(const std::byte* at, Dtype dtype) {
  const double x = load(at, dtype);
  return std::isnan(x) ? "NaN" : fmt::format("{:.9g}", x);
}

struct Change {
  std::size_t output = 0;
  std::size_t element = 0;
};

// Run A's results, and B's, of a call that returned.
struct Runs {
  const PackedResults* a = nullptr;
  const PackedResults* b = nullptr;
};

Runs runs_of(const Outcome& outcome) {
  if (outcome.unwritten) return {&*outcome.unwritten, nullptr};
  if (outcome.kind != Outcome::Kind::ok) return {};
  return {&outcome.outputs, &outcome.second()};
}

// The first element that has been computed from poison: NaN, or not the same with the other run's poison, and the same number
// in both runs with finite numbers in its place. Elements of an output that then hold these (`idle`) were not written at all.
std::optional<Change> first_change(const Call& call, const Runs& before, const Runs& now, bool idle) {
  for (std::size_t o = 0; o < before.a->size() && o < now.a->size(); ++o) {
    const Dtype dtype = call.outputs[o].dtype;
    const auto size = static_cast<std::size_t>(bytes(dtype));
    std::array<std::byte, 8> pattern{};
    const std::uint16_t word = finite_pattern(dtype);
    for (std::size_t i = 0; i < size; ++i)
      pattern[i] = static_cast<std::byte>(i % 2 == 0 ? word & 0xFF : word >> 8);
    for (std::size_t at = 0; at + size <= before.a->at(o).size() && at + size <= now.a->at(o).size();
         at += size) {
      const std::byte* const was = before.a->at(o).data() + at;
      const std::byte* const is = now.a->at(o).data() + at;
      if (std::memcmp(was, is, size) == 0) continue;
      if (idle && std::memcmp(is, pattern.data(), size) == 0) continue;
      if (std::isnan(load(is, dtype)) || std::memcmp(is, now.b->at(o).data() + at, size) != 0) continue;
      const bool poisoned = std::isnan(load(was, dtype)) || before.b == nullptr ||
                            std::memcmp(was, before.b->at(o).data() + at, size) != 0;
      if (poisoned) return Change{o, at / size};
    }
  }
  return std::nullopt;
}

// Whether the element is the same in both; any NaN is any NaN.
bool same_at(const Call& call, const Runs& a, const Runs& b, const Change& c) {
  if (a.a == nullptr || b.a == nullptr) return false;
  const Dtype dtype = call.outputs[c.output].dtype;
  const auto size = static_cast<std::size_t>(bytes(dtype));
  const std::byte* const x = a.a->at(c.output).data() + c.element * size;
  const std::byte* const y = b.a->at(c.output).data() + c.element * size;
  return std::memcmp(x, y, size) == 0 || (std::isnan(load(x, dtype)) && std::isnan(load(y, dtype)));
}

// Whether results have what poison would make of them: a NaN, or something else in each run.
bool may_be_poisoned(const Call& call, const Outcome& outcome) {
  if (outcome.unwritten || outcome.again) return true;
  for (std::size_t o = 0; o < outcome.outputs.size(); ++o) {
    const Dtype dtype = call.outputs[o].dtype;
    if (!is_float(dtype)) continue;
    const auto size = static_cast<std::size_t>(bytes(dtype));
    for (std::size_t at = 0; at + size <= outcome.outputs[o].size(); at += size)
      if (std::isnan(load(outcome.outputs[o].data() + at, dtype))) return true;
  }
  return false;
}

// Which tensor it was, in words, or "". Results that change by themselves are no evidence: with poison they must come out as
// before, and as often with finite numbers as without.
std::string what_reached(Lane& lane, const Kernel& kernel, const Call& call, const Outcome& outcome) {
  const Runs before = runs_of(outcome);
  if (before.a == nullptr || before.a->empty()) return {};
  const std::vector<Surroundings> all = surroundings_of(call);
  constexpr std::array<bool, 6> kFinite{true, false, false, true, true, false};
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const bool finite : kFinite) tasks.push_back({&kernel, &call, finite ? static_cast<int>(i) : -1});
  const std::vector<Outcome> outcomes = lane.run(tasks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::span<const Outcome> mine = std::span(outcomes).subspan(i * kFinite.size(), kFinite.size());
    if (mine[0].kind != Outcome::Kind::ok) continue;
    const Runs now = runs_of(mine[0]);
    const auto change = first_change(call, before, now, all[i].output);
    if (!change) continue;
    bool again = true;
    for (std::size_t k = 0; k < kFinite.size(); ++k)
      again = again && same_at(call, kFinite[k] ? now : before, runs_of(mine[k]), *change);
    if (!again) continue;
    const Checked::Output& output = call.outputs[change->output];
    const std::size_t at = change->element * static_cast<std::size_t>(bytes(output.dtype));
    Buffer named;
    named.output = static_cast<int>(change->output);
    const std::string what =
        all[i].output ? fmt::format("read {} before it had written it", all[i].described)
                      : fmt::format("read memory of {} that belongs to no element", all[i].described);
    return fmt::format("{}: {} of `{}` is {} with NaN there and {} with a finite number", what,
                       element_text(output.shape, static_cast<std::int64_t>(change->element)),
                       name_of(named, *call.op),
                       shown(before.a->at(change->output).data() + at, output.dtype),
                       shown(now.a->at(change->output).data() + at, output.dtype));
  }
  return {};
}

}  // namespace

void blame_surroundings(Lane& lane, const Kernel& kernel, const Call& call, const Outcome& outcome,
                        Judgement& j) {
  const bool by_results =
      j.verdict == Verdict::diverged || j.verdict == Verdict::unstable || outcome.unwritten;
  if (!by_results || !may_be_poisoned(call, outcome)) return;
  std::string found = what_reached(lane, kernel, call, outcome);
  if (found.empty()) return;
  j.verdict = Verdict::memory;
  j.detail = std::move(found);
}

}  // namespace assay
