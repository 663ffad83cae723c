// Arguments that are ignored, misread or mixed up.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "variant.h"
#include "vocabulary/case.h"
#include "vocabulary/domain.h"

namespace assay {
namespace {

using ArgumentChange = std::function<void(CallValue&, const Call&)>;

// They decide the results' shapes and nothing else, and these are given to a kernel.
constexpr std::array<std::string_view, 3> kOfShapes{"keepdim", "ceil_mode", "output_padding"};

class ArgumentVariants {
 public:
  ArgumentVariants(const Operator& op, std::vector<Variant>& all) : op_(op), all_(all) {}

  void add(std::size_t i) {
    at_ = i;
    const Argument& a = op_.schema.argument_storage[i];
    const Domain& d = domain(op_, a.name);
    if (a.is_tensor()) return tensor(a);
    if (std::ranges::count(kOfShapes, a.name) > 0) return;
    const bool is_choice = a.type == Type::boolean || a.type == Type::dtype || a.type == Type::memory_format;
    if (a.has_default && !is_choice && !d.has_axes()) {
      ignored(a);
      all_.back().keeps_shapes = d.is_spatial() && has_windows();
    }
    if (d.has_axes())
      axes(a, d);
    else if (a.type == Type::boolean && !a.list)
      boolean();
    else if (a.type == Type::string)
      string(d);
    else if (d.is_spatial())
      spatial(d);
    else if (a.type == Type::integer && !a.list)
      integer(a, d);
    else if ((a.type == Type::real || a.type == Type::scalar) && !a.list)
      number(a, d);
  }

  void swapped(std::size_t i, std::size_t j) {
    const std::string_view first = op_.schema.argument_storage[i].name,
                           second = op_.schema.argument_storage[j].name;
    all_.push_back({.name = fmt::format("{}.swapped_with_{}", first, second),
                    .says = fmt::format("takes {} for {}, and {} for {}", first, second, second, first),
                    .arguments = [i, j](Call& call) {
                      std::swap(call.arguments[i], call.arguments[j]);
                      return true;
                    }});
  }

 private:
  void plant(std::string_view what, std::string says, ArgumentChange change) {
    all_.push_back({.name = fmt::format("{}.{}", op_.schema.argument_storage[at_].name, what),
                    .says = std::move(says),
                    .arguments = [i = at_, change = std::move(change)](Call& call) {
                      const CallValue before = call.arguments[i];
                      change(call.arguments[i], call);
                      return !same(before, call.arguments[i]);
                    }});
  }

  static bool same(const CallValue& a, const CallValue& b) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&](const auto& x) {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, TensorData> || std::is_same_v<T, std::vector<TensorData>>)
            return true;
          else
            return x == std::get<T>(b);
        },
        a);
  }

  void ignored(const Argument& a) {
    const CaseValue value = default_value(a);
    plant("ignored", fmt::format("takes the default of {}, {}, whatever it is", a.name, text(value)),
          [value](CallValue& v, const Call&) {
            std::visit(
                [&](const auto& known) {
                  if constexpr (std::is_constructible_v<CallValue, decltype(known)> &&
                                !std::is_same_v<std::decay_t<decltype(known)>, TensorSpec> &&
                                !std::is_same_v<std::decay_t<decltype(known)>, std::vector<TensorSpec>>)
                    v = known;
                },
                value);
          });
  }

  void tensor(const Argument& a) {
    if (!a.optional) return;
    plant("dropped", fmt::format("computes as if {} were None", a.name),
          [](CallValue& v, const Call&) { v = None{}; });
  }

  static std::int64_t rank(const Call& call, const Domain& d) {
    const auto* t = std::get_if<TensorData>(&call.arguments[static_cast<std::size_t>(d.of)]);
    return t == nullptr ? 0 : static_cast<std::int64_t>(t->shape.size());
  }

  void axes(const Argument& a, const Domain& d) {
    if (a.list) {
      const auto list = [](CallValue& v) { return std::get_if<std::vector<std::int64_t>>(&v); };
      plant("next", fmt::format("takes the dimensions after those of {}", a.name),
            [list, d](CallValue& v, const Call& call) {
              if (auto* dims = list(v); dims != nullptr && rank(call, d) > 0)
                for (std::int64_t& dim : *dims) dim = (dim + 1) % rank(call, d);
            });
      return;
    }
    const auto becomes = [&](std::string_view what, std::string says, auto other) {
      plant(what, std::move(says), [other, d](CallValue& v, const Call& call) {
        auto* dim = std::get_if<std::int64_t>(&v);
        if (dim != nullptr && rank(call, d) > 0) *dim = other(*dim, rank(call, d));
      });
    };
    becomes("first", fmt::format("takes the first dimension, whatever {} is", a.name),
            [](std::int64_t, std::int64_t) { return std::int64_t{0}; });
    becomes("last", fmt::format("takes the last dimension, whatever {} is", a.name),
            [](std::int64_t, std::int64_t rank) { return rank - 1; });
    becomes("next", fmt::format("takes the dimension after {}", a.name),
            [](std::int64_t dim, std::int64_t rank) { return (dim + 1) % rank; });
    becomes("negative_wrong", fmt::format("counts a negative {} from one place too early", a.name),
            [](std::int64_t dim, std::int64_t rank) { return dim < 0 ? (dim + rank - 1) % rank : dim; });
  }

  void boolean() {
    const std::string_view name = op_.schema.argument_storage[at_].name;
    // What chooses between shapes cannot be ignored.
    if (op_.shapes.find(fmt::format("{}=", name)) != std::string_view::npos) return;
    for (const bool value : {false, true})
      plant(value ? "always" : "never", fmt::format("computes as if {} were {}", name, value),
            [value](CallValue& v, const Call&) { v = value; });
  }

  void string(const Domain& d) {
    const Argument& a = op_.schema.argument_storage[at_];
    for (const std::string_view choice : d.choices)
      plant(fmt::format("always_{}", choice), fmt::format("computes as if {} were {}", a.name, choice),
            [choice](CallValue& v, const Call&) { v.emplace<std::string>(choice); });
    if (a.optional)
      plant("dropped", fmt::format("computes as if {} were None", a.name),
            [](CallValue& v, const Call&) { v = None{}; });
  }

  bool has_windows() const { return op_.schema.find("stride") >= 0; }

  void spatial(const Domain& d) {
    const std::string_view name = op_.schema.argument_storage[at_].name;
    const auto numbers = [&](std::string_view what, std::string says, auto change) {
      plant(what, std::move(says), [change](CallValue& v, const Call&) {
        if (auto* list = std::get_if<std::vector<std::int64_t>>(&v); list != nullptr && !list->empty())
          change(*list);
      });
      all_.back().keeps_shapes = has_windows();
    };
    numbers("of_the_first_dimension", fmt::format("takes the first number of {} for every dimension", name),
            [](std::vector<std::int64_t>& list) { std::ranges::fill(list, list.front()); });
    numbers("reversed", fmt::format("takes the numbers of {} in the opposite order", name),
            [](std::vector<std::int64_t>& list) { std::ranges::reverse(list); });
    const std::int64_t plain = d.kind == Domain::Kind::naturals ? 0 : 1;
    numbers(fmt::format("always_{}", plain), fmt::format("computes as if {} were {}", name, plain),
            [plain](std::vector<std::int64_t>& list) { std::ranges::fill(list, plain); });
    numbers("less_one", fmt::format("takes {} to be smaller by 1", name),
            [plain](std::vector<std::int64_t>& list) {
              for (std::int64_t& n : list) n = std::max(n - 1, plain);
            });
  }

  void integer(const Argument& a, const Domain&) {
    const auto becomes = [&](std::string_view what, std::string says, std::int64_t factor,
                             std::int64_t plus) {
      plant(what, std::move(says), [factor, plus](CallValue& v, const Call&) {
        if (auto* n = std::get_if<std::int64_t>(&v))
          *n = *n * factor + plus;
        else if (factor == 0 && std::holds_alternative<None>(v))
          v = plus;  // left out: as if it were there
      });
    };
    becomes("zero", fmt::format("computes as if {} were 0", a.name), 0, 0);
    becomes("one", fmt::format("computes as if {} were 1", a.name), 0, 1);
    becomes("plus_one", fmt::format("takes {} to be larger by 1", a.name), 1, 1);
    becomes("negated", fmt::format("takes {} with the opposite sign", a.name), -1, 0);
    if (a.optional)
      plant("dropped", fmt::format("computes as if {} were None", a.name),
            [](CallValue& v, const Call&) { v = None{}; });
  }

  void number(const Argument& a, const Domain& d) {
    const auto becomes = [&](std::string_view what, std::string says, auto other) {
      plant(what, std::move(says), [other](CallValue& v, const Call&) {
        if (auto* x = std::get_if<double>(&v))
          *x = other(*x);
        else if (auto* n = std::get_if<std::int64_t>(&v))
          *n = static_cast<std::int64_t>(other(static_cast<double>(*n)));
      });
    };
    if (d.kind == Domain::Kind::epsilon) {
      becomes("zero", fmt::format("leaves {} out", a.name), [](double) { return 0.0; });
      becomes("tenfold", fmt::format("adds ten times {}", a.name), [](double x) { return 10 * x; });
      becomes("squared", fmt::format("adds the square of {}", a.name), [](double x) { return x * x; });
      return;
    }
    becomes("zero", fmt::format("computes as if {} were 0", a.name), [](double) { return 0.0; });
    becomes("one", fmt::format("computes as if {} were 1", a.name), [](double) { return 1.0; });
    becomes("truncated", fmt::format("takes {} as an integer", a.name), [](double x) {
      if (std::isnan(x)) return x;
      return std::clamp(static_cast<double>(static_cast<std::int64_t>(std::clamp(x, -0x1p52, 0x1p52))),
                        -0x1p52, 0x1p52);
    });
    becomes("absolute", fmt::format("loses the sign of {}", a.name), [](double x) { return x < 0 ? -x : x; });
    becomes("in_4_bits", fmt::format("keeps 4 bits of {}", a.name), [](double x) {
      int exponent = 0;
      const double m = std::frexp(x, &exponent);
      return std::isfinite(x) ? std::ldexp(std::nearbyint(std::ldexp(m, 4)), exponent - 4) : x;
    });
    if (a.type == Type::scalar)  // assay_value has either in a union
      plant("bits_as_real", fmt::format("reads the bits of {}, an integer, as those of a double", a.name),
            [](CallValue& v, const Call&) {
              if (const auto* n = std::get_if<std::int64_t>(&v)) v = std::bit_cast<double>(*n);
            });
    if (a.optional)
      plant("dropped", fmt::format("computes as if {} were None", a.name),
            [](CallValue& v, const Call&) { v = None{}; });
  }

  const Operator& op_;
  std::vector<Variant>& all_;
  std::size_t at_ = 0;
};

// "[N,C,*]" of a tensor in the first of the shape rule's alternatives.
std::string_view shape_of(const Operator& op, std::string_view tensor) {
  const std::size_t at = op.shapes.find(fmt::format("{}=[", tensor));
  if (at == std::string_view::npos) return {};
  const std::string_view rest = op.shapes.substr(at + tensor.size() + 1);
  return rest.substr(0, rest.find(']') + 1);
}

}  // namespace

void add_argument_variants(const Operator& op, std::vector<Variant>& all) {
  ArgumentVariants variants(op, all);
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) variants.add(i);
  for (std::size_t i = 0; i < op.schema.argument_count; ++i)
    for (std::size_t j = i + 1; j < op.schema.argument_count; ++j) {
      const Argument &a = op.schema.argument_storage[i], &b = op.schema.argument_storage[j];
      if (a.is_tensor() && b.is_tensor() && !a.list && !b.list &&
          shape_of(op, a.name) == shape_of(op, b.name))
        variants.swapped(i, j);
    }
}

}  // namespace assay
