#include "misread.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vocabulary/reference.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

// There are as many pitches to try as a row has elements.
#ifdef ASSAY_SANITIZED
constexpr std::chrono::seconds kMostForPlaces{20};
#else
constexpr std::chrono::seconds kMostForPlaces{1};
#endif
constexpr std::int64_t kMostMisread = 1 << 20, kWidestGap = 256;
constexpr std::size_t kDecisiveOfPlaces = 8;
constexpr double kSameNumber = 1e-3;

// Where the element that is read, or stored, lies in row-major order; nothing: beyond the tensor's end, where zeros are taken to be.
using From = std::function<std::optional<std::int64_t>(std::int64_t)>;

// Distances of rows, the likely ones first: padded to whole vectors, off by one, as many as there are rows.
std::vector<std::int64_t> pitches(std::int64_t columns, std::int64_t rows) {
  std::vector<std::int64_t> all;
  const auto add = [&](std::int64_t pitch) {
    if (pitch > 0 && pitch != columns && std::ranges::find(all, pitch) == all.end()) all.push_back(pitch);
  };
  for (const std::int64_t of : {4, 8, 16, 32, 64, 128, 256}) add((columns + of - 1) / of * of);
  add(columns - 1);
  add(columns + 1);
  add(rows);
  for (std::int64_t gap = 2; gap <= kWidestGap; ++gap) {
    add(columns + gap);
    add(columns - gap);
  }
  return all;
}

struct Places {
  std::string what, says;
  From from;
};

// The first of a tensor's elements have the same place with any pitch.
std::optional<std::int64_t> inside(std::int64_t at, std::int64_t count) {
  return at < count ? std::optional(at) : std::nullopt;
}

class Misreadings {
 public:
  explicit Misreadings(Evidence& evidence) : evidence_(evidence), call_(evidence.call()) {}

  std::vector<Variant> find() {
    if (evidence_.expectation().integers(0) == nullptr) results();
    for (std::size_t a = 0; a < call_.arguments.size(); ++a)
      if (const auto* t = std::get_if<TensorData>(&call_.arguments[a]);
          t != nullptr && t->numel() > 1 && t->numel() <= kMostMisread)
        argument(a, packed_copy(*t));
    return std::move(found_);
  }

 private:
  // The elements that decide: of those that diverge, from all over the result.
  std::vector<Element> decisive() const {
    std::vector<Element> some;
    const std::size_t step = std::max<std::size_t>(1, evidence_.tried_diverging() / kDecisiveOfPlaces);
    for (std::size_t i = 0; i < evidence_.tried_diverging(); i += step) some.push_back(evidence_.tried()[i]);
    return some;
  }

  // Rows of the result, of which later ones lie over earlier ones where they are stored too near to each other.
  void results() {
    const Shape& shape = call_.outputs[0].shape;
    if (shape.size() < 2 || numel(shape) == 0 || numel(shape) > kMostMisread) return;
    const std::int64_t columns = shape.back(), rows = numel(shape) / columns;
    const std::vector<double>& right = evidence_.expectation().values(0);
    std::vector<Element> some = decisive();
    std::erase_if(some, [](const Element& e) { return e.output != 0; });
    for (const std::int64_t pitch : pitches(columns, rows)) {
      const auto from = [columns, rows, pitch](std::int64_t place) -> std::optional<std::int64_t> {
        const std::int64_t row = std::min(place / pitch, rows - 1), column = place - row * pitch;
        return column < columns ? std::optional(row * columns + column) : std::nullopt;
      };
      const auto is_there = [&](const Element& e) {
        const auto source = from(static_cast<std::int64_t>(e.at));
        const double x = source ? right[static_cast<std::size_t>(*source)] : 0;
        return std::fabs(e.actual - x) <= kSameNumber * std::fabs(x);
      };
      if (some.size() < kDecisiveOfPlaces || !std::ranges::all_of(some, is_there)) continue;
      found_.push_back({.name = fmt::format("results.pitch_{}", pitch),
                        .says = fmt::format("stores the rows of the result {} elements apart, where {} are",
                                            pitch, columns),
                        .results = [from, columns](std::vector<VariantResult>& all, const Call&) {
                          if (all[0].shape.size() < 2 || all[0].shape.back() != columns) return;
                          all[0].move([&](std::size_t i) -> std::optional<std::size_t> {
                            const auto source = from(static_cast<std::int64_t>(i));
                            return source ? std::optional(static_cast<std::size_t>(*source)) : std::nullopt;
                          });
                        }});
      found_.back().moves = true;
      return;
    }
  }

  void argument(std::size_t a, const TensorData& t) {
    const std::string_view name = call_.op->schema.argument_storage[a].name;
    const std::int64_t count = t.numel();
    const auto is_found = [&](Places places) {
      stop_now();
      if (!gives_what_came(a, t, places.from)) return false;
      found_.push_back({.name = fmt::format("{}.{}", name, places.what),
                        .says = std::move(places.says),
                        .arguments =
                            [a, shape = t.shape, from = std::move(places.from)](Call& call) {
                              auto* const read = std::get_if<TensorData>(&call.arguments[a]);
                              return read != nullptr && read->shape == shape && read_from(*read, from);
                            },
                        .argument = static_cast<int>(a)});
      found_.back().moves = true;
      return true;
    };
    for (std::size_t d = 0; d < t.shape.size(); ++d) {
      const std::int64_t n = t.shape[d], inner = numel(std::span(t.shape).subspan(d + 1));
      const auto along = [n, inner](auto index) -> From {
        return [n, inner, index](std::int64_t i) -> std::optional<std::int64_t> {
          const std::int64_t own = i / inner % n;
          return i + (index(own) - own) * inner;
        };
      };
      for (std::int64_t of = 2; 2 * of <= n; ++of) {
        if (is_found({fmt::format("one_for_{}_in_dimension_{}", of, d),
                      fmt::format("reads index i / {} of dimension {} of {} for index i", of, d, name),
                      along([of](std::int64_t i) { return i / of; })}))
          return;
        if (is_found({fmt::format("first_{}_again_in_dimension_{}", of, d),
                      fmt::format("reads index i % {} of dimension {} of {} for index i", of, d, name),
                      along([of](std::int64_t i) { return i % of; })}))
          return;
      }
    }
    if (t.shape.size() < 2) return;
    const std::int64_t columns = t.shape.back();
    for (const std::int64_t pitch : pitches(columns, count / columns))
      if (is_found({fmt::format("pitch_{}", pitch),
                    fmt::format("takes the rows of {} to lie {} elements apart, where {} are", name, pitch,
                                columns),
                    [columns, pitch, count](std::int64_t i) {
                      return inside(i / columns * pitch + i % columns, count);
                    }}))
        return;
  }

  // Whether any element is another one then.
  static bool read_from(TensorData& t, const From& from) {
    TensorData read(t.dtype, t.shape);
    const auto size = static_cast<std::size_t>(bytes(t.dtype));
    bool differs = false;
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      if (const auto source = from(i)) std::memcpy(read.element(i), t.element(*source), size);
      differs = differs || std::memcmp(read.element(i), t.element(i), size) != 0;
    }
    t = std::move(read);
    return differs;
  }

  bool gives_what_came(std::size_t a, const TensorData& t, const From& from) {
    TensorData other = t;
    if (!read_from(other, from)) return false;
    std::swap(std::get<TensorData>(call_.arguments[a]), other);
    const Arguments arguments(call_);
    const auto evaluation =
        find_reference(call_.op->schema.name)->evaluate(arguments.values(), call_.outputs);
    bool all = true;
    for (const Element& e : decisive()) {
      Interval admitted = evaluation->interval(e.output, e.at, evidence_.contract());
      if (!evidence_.rounding().stored.empty())
        admitted = evidence_.rounding().widened(std::move(admitted), e.output, e.at);
      if (!admitted.contains(e.actual)) {
        all = false;
        break;
      }
    }
    std::swap(std::get<TensorData>(call_.arguments[a]), other);
    return all;
  }

  Evidence& evidence_;
  Call call_;  // with an argument that is misread, while one is tried
  std::vector<Variant> found_;
};

}  // namespace

std::vector<Variant> misread_of(Evidence& evidence) {
  // A few elements would be given by much.
  if (evidence.tried_diverging() < kDecisiveOfPlaces ||
      find_reference(evidence.call().op->schema.name) == nullptr)
    return {};
  const auto until = std::chrono::steady_clock::now() + kMostForPlaces;
  Misreadings search(evidence);
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    return search.find();
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose
