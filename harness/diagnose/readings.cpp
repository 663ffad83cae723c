// Tensors read in another order, or as other numbers; arguments misread.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "memory_order.h"
#include "suspects.h"
#include "vocabulary/domain.h"

namespace assay::diagnose {
namespace {

// Element i of the tensor is read where `from` says, counted in row-major order.
template <class From>
bool read_from(TensorData& t, const From& from) {
  TensorData read(t.dtype, t.shape);
  const int size = bytes(t.dtype);
  const bool in_order = t.in_order();
  const std::byte* const begin = t.memory.data() + t.strided.offset * size;
  std::byte* to = read.memory.data();
  bool elsewhere = false;
  for (std::int64_t i = 0, n = t.numel(); i < n; ++i, to += size) {
    const std::int64_t source = from(i);
    std::memcpy(to, in_order ? begin + source * size : t.element(source), static_cast<std::size_t>(size));
    elsewhere = elsewhere || source != i;
  }
  t = std::move(read);
  return elsewhere;
}

class Readings {
 public:
  Readings(const Operator& op, std::vector<Variant>& all, std::size_t argument)
      : all_(all),
        at_(argument),
        name_(op.schema.argument_storage[argument].name),
        domain_(domain(op, name_)) {}

  void add() {
    orders();
    if (domain_.kind != Domain::Kind::boolean && domain_.kind != Domain::Kind::index) numbers();
  }

 private:
  void plant_move(std::string_view what, std::string says, std::function<bool(TensorData&)> change) {
    plant(what, std::move(says), std::move(change));
    all_.back().moves = true;
  }
  void plant(std::string_view what, std::string says, std::function<bool(TensorData&)> change) {
    all_.push_back({.name = fmt::format("{}.{}", name_, what),
                    .says = std::move(says),
                    .arguments =
                        [i = at_, change = std::move(change)](Call& call) {
                          auto* t = std::get_if<TensorData>(&call.arguments[i]);
                          return t != nullptr && t->numel() > 0 && change(*t);
                        },
                    .argument = static_cast<int>(at_)});
  }

  static std::vector<std::size_t> reverse_order(const TensorData& t) {
    std::vector<std::size_t> order(t.shape.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    return order;
  }

  // As if its dimensions lay in memory in this order.
  static bool read_as_in(TensorData& t, const std::vector<std::size_t>& order) {
    const MemoryOrder memory(t.shape, order);
    return read_from(t, [&](std::int64_t i) { return memory.place_of(i); });
  }

  // What lies in memory in this order, as if it were in row-major order.
  static bool read_memory_of(TensorData& t, const std::vector<std::size_t>& order) {
    const MemoryOrder memory(t.shape, order);
    return read_from(t, [&](std::int64_t i) { return memory.element_at(i); });
  }

  // Of batches of matrices, which stand for batches, heads and groups of heads in one dimension.
  void heads() {
    constexpr std::array<std::int64_t, 6> kSizes{2, 3, 4, 6, 8, 16};
    for (const std::int64_t groups : kSizes)
      for (const std::int64_t each : kSizes)
        plant_move(fmt::format("heads_{}_in_place_of_{}", each, groups),
                   fmt::format("takes dimension 0 of {}, [.., {}, {}] in one, in the order of [.., {}, {}]: heads 0 1 0 1 in place of 0 0 1 1, or back", name_,
                               groups, each, each, groups),
                   [groups, each](TensorData& t) {
                     const std::int64_t together = groups * each;
                     if (t.shape.size() != 3 || t.shape[0] % together != 0) return false;
                     const std::int64_t inner = t.shape[1] * t.shape[2];
                     return read_from(t, [=](std::int64_t i) {
                       const std::int64_t head = i / inner, j = head % together;
                       return (head - j + j % each * groups + j / each) * inner + i % inner;
                     });
                   });
  }

  void orders() {
    for (const std::size_t rank : {2, 3, 4, 5}) {
      std::vector<std::size_t> order(rank);
      std::iota(order.begin(), order.end(), std::size_t{0});
      while (std::ranges::next_permutation(order).found) {
        if ((rank == 5 && !one_moved(order)) || std::ranges::is_sorted(order, std::greater<>())) continue;
        plant_move(fmt::format("order_{}", fmt::join(order, "")),
                   fmt::format("reads {} as if its dimensions lay in memory in the order ({})", name_,
                               fmt::join(order, ", ")),
                   [order](TensorData& t) { return t.shape.size() == order.size() && read_as_in(t, order); });
      }
    }
    for (const std::vector<std::size_t>& order :
         {std::vector<std::size_t>{0, 2, 1}, std::vector<std::size_t>{0, 2, 3, 1}, std::vector<std::size_t>{0, 2, 1, 3}})
      plant_move(
          fmt::format("memory_of_order_{}", fmt::join(order, "")),
          fmt::format(
              "reads the memory of {}, in which its dimensions lie in the order ({}), as if they lay there in "
              "their own order: nobody transposes it",
              name_, fmt::join(order, ", ")),
          [order](TensorData& t) { return t.shape.size() == order.size() && read_memory_of(t, order); });
    heads();
    // Of every rank: a kernel that has this wrong has it wrong for all.
    plant_move(
        "order_reversed",
        fmt::format("reads {} as if its dimensions lay in memory in the reverse order, as in Fortran", name_),
        [](TensorData& t) { return read_as_in(t, reverse_order(t)); });
    plant_move(
        "memory_of_reversed_order",
        fmt::format(
            "reads the memory of {}, in which its dimensions lie in the reverse order, as in Fortran, as if they lay "
            "there in their own order: nobody transposes it",
            name_),
        [](TensorData& t) { return read_memory_of(t, reverse_order(t)); });
    for (const std::size_t d : {0, 1, 2, 3, 4})
      plant_move(fmt::format("dimension_{}_reversed", d),
                 fmt::format("reads dimension {} of {} backwards", d, name_),
                 [d](TensorData& t) { return reversed(t, d, d + 1); });
    plant_move("flipped", fmt::format("reads {} backwards in all dimensions after the first two", name_),
               [](TensorData& t) { return t.shape.size() > 3 && reversed(t, 2, t.shape.size()); });
    for (const std::int64_t by : {-1, 2, -2, 3, 4, 8}) {
      plant_move(fmt::format("shifted_by_{}", by),
                 fmt::format("reads {} {} elements too {}", name_, std::abs(by), by > 0 ? "far on" : "early"),
                 [by](TensorData& t) {
                   const std::int64_t n = t.numel();
                   return std::abs(by) < n &&
                          read_from(t, [&](std::int64_t i) { return ((i + by) % n + n) % n; });
                 });
    }
    plant_move("last_for_all", fmt::format("reads the last element of {} for every one", name_),
               [](TensorData& t) { return read_from(t, [&](std::int64_t) { return t.numel() - 1; }); });
    plant_move("pairs_exchanged", fmt::format("reads the elements of {} with each two exchanged", name_),
               [](TensorData& t) {
                 return read_from(t, [&](std::int64_t i) { return (i ^ 1) < t.numel() ? i ^ 1 : i; });
               });
    plant_move("interleaved", fmt::format("reads the two halves of {} as if they were interleaved", name_),
               [](TensorData& t) {
                 const std::int64_t half = t.numel() / 2;
                 return t.numel() % 2 == 0 &&
                        read_from(t, [&](std::int64_t i) { return i % 2 * half + i / 2; });
               });
    plant_move(
        "halves_apart", fmt::format("reads {} as if every second element lay in its other half", name_),
        [](TensorData& t) {
          const std::int64_t half = t.numel() / 2;
          return t.numel() % 2 == 0 && read_from(t, [&](std::int64_t i) { return i % half * 2 + i / half; });
        });
  }

  // One dimension stands elsewhere, and the others in their order.
  static bool one_moved(const std::vector<std::size_t>& order) {
    for (std::size_t moved = 0; moved < order.size(); ++moved) {
      std::vector<std::size_t> others;
      for (const std::size_t d : order)
        if (d != moved) others.push_back(d);
      if (std::ranges::is_sorted(others)) return true;
    }
    return false;
  }

  static bool reversed(TensorData& t, std::size_t begin, std::size_t end) {
    if (end > t.shape.size()) return false;
    return read_from(t, [&](std::int64_t i) {
      std::int64_t at = 0, rest = i;
      for (std::size_t d = t.shape.size(), stride = 1; d-- > 0;
           stride *= static_cast<std::size_t>(t.shape[d])) {
        const std::int64_t index = rest % t.shape[d];
        rest /= t.shape[d];
        at += (d >= begin && d < end ? t.shape[d] - 1 - index : index) * static_cast<std::int64_t>(stride);
      }
      return at;
    });
  }

  void each(std::string_view what, std::string says, double (*change)(double, const Format&)) {
    plant(what, std::move(says), [change](TensorData& t) {
      bool other = false;
      for (std::int64_t i = 0, n = t.numel(); i < n; ++i) {
        const double before = t.get(i), after = change(before, format(t.dtype));
        if (!is_float(t.dtype)) {
          const IntegerRange range = integer_range(t.dtype);
          if (!(std::fabs(after) <= 0x1p53 && after >= range.least && after <= range.greatest)) return false;
        }
        t.set(i, after);
        other = other || t.get(i) != before;
      }
      return other;
    });
  }

  void numbers() {
    using F = const Format&;
    each("zero", fmt::format("computes as if {} were 0", name_), [](double, F) { return 0.0; });
    each("one", fmt::format("computes as if {} were 1", name_), [](double, F) { return 1.0; });
    each("negated", fmt::format("takes {} with the opposite sign", name_), [](double x, F) { return -x; });
    each("doubled", fmt::format("takes twice {}", name_), [](double x, F) { return 2 * x; });
    each("halved", fmt::format("takes half of {}", name_), [](double x, F) { return x / 2; });
    each("plus_one", fmt::format("adds 1 to {}", name_), [](double x, F) { return x + 1; });
    each("minus_one", fmt::format("takes 1 from {}", name_), [](double x, F) { return x - 1; });
    each("reciprocal", fmt::format("takes 1 / {}", name_), [](double x, F) { return 1 / x; });
    each("squared", fmt::format("takes the square of {}", name_), [](double x, F) { return x * x; });
    each("square_root", fmt::format("takes the square root of {}", name_),
         [](double x, F) { return std::sqrt(x); });
    each("cut_to_bf16", fmt::format("cuts {} off to bf16 instead of rounding", name_), [](double x, F) {
      return x < 0 ? round_up(x, format(Dtype::bf16)) : round_down(x, format(Dtype::bf16));
    });
    each("cut_to_f16", fmt::format("cuts {} off to f16 instead of rounding", name_), [](double x, F) {
      return x < 0 ? round_up(x, format(Dtype::f16)) : round_down(x, format(Dtype::f16));
    });
    each("below_zero_lost", fmt::format("takes negative numbers of {} as 0", name_),
         [](double x, F) { return x < 0 ? 0 : x; });
    for (const std::int64_t by : {128, -128})
      plant(fmt::format("off_by_{}", by),
            fmt::format("takes {} to be {} too {}", name_, 128, by > 0 ? "large" : "small"),
            [by](TensorData& t) {
              if (is_float(t.dtype) || bytes(t.dtype) > 1) return false;
              for (std::int64_t i = 0; i < t.numel(); ++i)
                store_integer(t.element(i), t.dtype, load_integer(t.element(i), t.dtype) + by);
              return true;
            });
    plant("mean_for_all", fmt::format("takes the mean of {} for every element", name_), [](TensorData& t) {
      if (!is_float(t.dtype) || t.numel() < 2) return false;
      double sum = 0;
      for (std::int64_t i = 0; i < t.numel(); ++i) sum += t.get(i);
      for (std::int64_t i = 0; i < t.numel(); ++i) t.set(i, sum / static_cast<double>(t.numel()));
      return std::isfinite(sum);
    });
  }

  std::vector<Variant>& all_;
  std::size_t at_;
  std::string_view name_;
  Domain domain_;
};

// Numbers that are no tensors.
void add_numbers(const Operator& op, std::size_t i, std::vector<Variant>& all) {
  const Argument& a = op.schema.argument_storage[i];
  const auto becomes = [&](std::string_view what, std::string says, double (*change)(double)) {
    all.push_back({.name = fmt::format("{}.{}", a.name, what),
                   .says = std::move(says),
                   .arguments = [i, change](Call& call) {
                     CallValue& value = call.arguments[i];
                     if (const auto* n = std::get_if<std::int64_t>(&value)) value = static_cast<double>(*n);
                     auto* x = std::get_if<double>(&value);
                     if (x == nullptr || !is_float(call.outputs[0].computed_in)) return false;
                     const double before = *x;
                     *x = change(before);
                     return *x != before;
                   }});
  };
  becomes("negated", fmt::format("takes {} with the opposite sign", a.name), [](double x) { return -x; });
  becomes("doubled", fmt::format("takes twice {}", a.name), [](double x) { return 2 * x; });
  becomes("halved", fmt::format("takes half of {}", a.name), [](double x) { return x / 2; });
  becomes("reciprocal", fmt::format("takes 1 / {}", a.name), [](double x) { return 1 / x; });
  becomes("square_root", fmt::format("takes the square root of {}", a.name),
          [](double x) { return std::sqrt(x); });
  becomes("taken_from_1", fmt::format("takes 1 - {}", a.name), [](double x) { return 1 - x; });
  becomes("plus_1", fmt::format("adds 1 to {}", a.name), [](double x) { return x + 1; });
}

void add_windows(const Operator& op, std::size_t i, std::vector<Variant>& all) {
  const Argument& a = op.schema.argument_storage[i];
  const auto becomes = [&](std::string_view what, std::string says, auto change) {
    all.push_back({.name = fmt::format("{}.{}", a.name, what),
                   .says = std::move(says),
                   .arguments =
                       [i, change](Call& call) {
                         auto* list = std::get_if<std::vector<std::int64_t>>(&call.arguments[i]);
                         if (list == nullptr || list->empty()) return false;
                         const std::vector<std::int64_t> before = *list;
                         for (std::size_t d = 0; d < list->size(); ++d) (*list)[d] = change(d, (*list)[d]);
                         return *list != before;
                       },
                   .keeps_shapes = op.schema.find("stride") >= 0});
  };
  becomes("plus_one", fmt::format("takes {} to be larger by 1", a.name),
          [](std::size_t, std::int64_t n) { return n + 1; });
  const std::int64_t least = domain(op, a.name).kind == Domain::Kind::naturals ? 0 : 1;
  for (const std::size_t d : {0, 1, 2}) {
    becomes(fmt::format("plus_one_in_dimension_{}", d),
            fmt::format("takes number {} of {} to be larger by 1, and the others as they are", d, a.name),
            [d](std::size_t at, std::int64_t n) { return at == d ? n + 1 : n; });
    becomes(fmt::format("less_one_in_dimension_{}", d),
            fmt::format("takes number {} of {} to be smaller by 1, and the others as they are", d, a.name),
            [d, least](std::size_t at, std::int64_t n) { return at == d ? std::max(n - 1, least) : n; });
    becomes(fmt::format("{}_in_dimension_{}", least, d),
            fmt::format("takes number {} of {} as {}, and the others as they are", d, a.name, least),
            [d, least](std::size_t at, std::int64_t n) { return at == d ? least : n; });
  }
}

// Tensors with fewer elements than the results, which are handed out to these otherwise than shapes say.
void add_broadcasts(const Operator& op, std::size_t i, std::vector<Variant>& all) {
  const Argument& a = op.schema.argument_storage[i];
  const auto plant = [&](std::string_view what, std::string says, auto from) {
    all.push_back({.name = fmt::format("{}.{}", a.name, what),
                   .says = std::move(says),
                   .arguments =
                       [i, from](Call& call) {
                         auto* t = std::get_if<TensorData>(&call.arguments[i]);
                         if (t == nullptr || t->numel() < 2 || call.outputs.empty()) return false;
                         TensorData each(t->dtype, call.outputs[0].shape);
                         const std::int64_t n = t->numel(), times = each.numel() / n;
                         if (times < 2 || each.numel() % n != 0) return false;
                         for (std::int64_t e = 0; e < each.numel(); ++e)
                           std::memcpy(each.element(e), t->element(from(e, n, times)),
                                       static_cast<std::size_t>(bytes(t->dtype)));
                         *t = std::move(each);
                         return true;
                       },
                   .argument = static_cast<int>(i)});
  };
  plant(
      "cycled",
      fmt::format(
          "goes through {} element by element with the results, and again from its first, whatever its shape",
          a.name),
      [](std::int64_t e, std::int64_t n, std::int64_t) { return e % n; });
  plant(
      "each_repeated",
      fmt::format(
          "broadcasts {} along the last dimensions, and not along the first: each of its elements stands for "
          "neighbouring results",
          a.name),
      [](std::int64_t e, std::int64_t, std::int64_t times) { return e / times; });
}

// f(f(x)), as where a call is made twice on the same memory.
void add_twice(const Operator& op, std::vector<Variant>& all) {
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const Argument& a = op.schema.argument_storage[i];
    if (!a.is_tensor() || a.list) continue;
    all.push_back(
        {.name = "applied_twice",
         .says = fmt::format("applies the operator to its own result: {} was overwritten by it", a.name),
         .arguments = [i, &op](Call& call) {
           auto* t = std::get_if<TensorData>(&call.arguments[i]);
           if (t == nullptr || call.outputs.size() != 1 || call.outputs[0].shape != t->shape ||
               call.outputs[0].dtype != t->dtype || !is_float(t->dtype))
             return false;
           TensorData once(t->dtype, t->shape);
           std::vector<double> values(static_cast<std::size_t>(t->numel()));
           {
             const Arguments arguments(call);
             find_reference(op.schema.name)->evaluate(arguments.values(), call.outputs)->values(0, values);
           }
           for (std::size_t e = 0; e < values.size(); ++e) once.set(static_cast<std::int64_t>(e), values[e]);
           *t = std::move(once);
           return true;
         }});
    return;
  }
}

}  // namespace

void add_readings(const Operator& op, std::vector<Variant>& all) {
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const Argument& a = op.schema.argument_storage[i];
    if (a.is_tensor() && !a.list) {
      Readings(op, all, i).add();
      add_broadcasts(op, i, all);
    }
    if (!a.list && (a.type == Type::real || a.type == Type::scalar)) add_numbers(op, i, all);
    if (domain(op, a.name).is_spatial()) add_windows(op, i, all);
  }
  add_twice(op, all);
}

}  // namespace assay::diagnose
