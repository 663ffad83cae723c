// Tensors that are read wrongly: other elements than meant, or other numbers than stand there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "variant.h"
#include "vocabulary/domain.h"

namespace assay {
namespace {

using Source = std::function<std::int64_t(std::int64_t index, const TensorData& t)>;

class TensorVariants {
 public:
  TensorVariants(const Operator& op, std::vector<Variant>& all, std::size_t argument)
      : all_(all),
        at_(argument),
        name_(op.schema.argument_storage[argument].name),
        domain_(domain(op, name_)) {}

  void add() {
    elsewhere();
    if (domain_.kind == Domain::Kind::index) return indices();
    if (domain_.kind == Domain::Kind::boolean) return;
    numbers();
  }

 private:
  // Whether it applies. `result`: the dtype of the first result.
  using Change = std::function<bool(TensorData&, Dtype result)>;

  // Changes tensors of these dtypes, which are those of the results unless the tensor has its own.
  void plant(std::string_view what, std::string says, DtypeSet dtypes, Change change) {
    DtypeSet results = dtypes;
    if (!domain_.own.empty()) {
      if (std::ranges::none_of(domain_.own, [&](Dtype d) { return dtypes.contains(d); })) return;
      results = kFloatingPoint | kIntegers;
    }
    all_.push_back({.name = fmt::format("{}.{}", name_, what),
                    .says = std::move(says),
                    .dtypes = results,
                    .arguments =
                        [i = at_, dtypes, change = std::move(change)](Call& call) {
                          auto* t = std::get_if<TensorData>(&call.arguments[i]);
                          return t != nullptr && dtypes.contains(t->dtype) &&
                                 change(*t, call.outputs[0].dtype);
                        },
                    .argument = static_cast<int>(at_)});
  }

  // Element i is read where `from` says, counted in row-major order; as zero for a negative place.
  void read_from(std::string_view what, std::string says, Source from) {
    plant(what, std::move(says), kFloatingPoint | kIntegers, [from = std::move(from)](TensorData& t, Dtype) {
      TensorData read(t.dtype, t.shape);
      const auto size = static_cast<std::size_t>(bytes(t.dtype));
      bool elsewhere = false;
      for (std::int64_t i = 0; i < t.numel(); ++i) {
        const std::int64_t source = from(i, t);
        if (source >= 0) std::memcpy(read.element(i), t.element(source), size);
        elsewhere = elsewhere || source != i;
      }
      t = std::move(read);
      return elsewhere;
    });
    all_.back().moves = true;
  }

  void elsewhere() {
    plant("strides_ignored",
          fmt::format("reads {} as if its elements lay in row-major order without gaps", name_),
          kFloatingPoint | kIntegers, [](TensorData& t, Dtype) {
            TensorData packed(t.dtype, t.shape);
            const auto readable = static_cast<std::int64_t>(t.memory.size());
            for (std::int64_t i = 0, size = bytes(t.dtype); i < t.numel() && (i + 1) * size <= readable;
                 ++i) {
              // What lies between strides belongs to nobody: it is read as zero.
              std::memcpy(packed.element(i), t.memory.data() + i * size, static_cast<std::size_t>(size));
            }
            t = std::move(packed);
            return true;
          });
    read_from("first_for_all", fmt::format("reads the first element of {} for every one", name_),
              [](std::int64_t, const TensorData&) { return std::int64_t{0}; });
    read_from("next", fmt::format("reads {} one element too far on", name_),
              [](std::int64_t i, const TensorData& t) { return (i + 1) % t.numel(); });
    read_from("last_lost", fmt::format("reads the last element of {} as zero", name_),
              [](std::int64_t i, const TensorData& t) { return i + 1 == t.numel() ? -1 : i; });
    read_from("last_column_lost",
              fmt::format("reads the last of the innermost elements of {} as zero", name_),
              [](std::int64_t i, const TensorData& t) {
                return t.shape.empty() || (i + 1) % t.shape.back() == 0 ? -1 : i;
              });
    read_from("outermost_ignored",
              fmt::format("reads the first of the outermost slices of {} for every one", name_),
              [](std::int64_t i, const TensorData& t) {
                return t.shape.empty() ? i : i % (t.numel() / t.shape[0]);
              });
    read_from("square_transposed",
              fmt::format("exchanges the last two dimensions of {} where they are equal", name_),
              [](std::int64_t i, const TensorData& t) {
                const std::size_t rank = t.shape.size();
                if (rank < 2 || t.shape[rank - 1] != t.shape[rank - 2]) return i;
                const std::int64_t n = t.shape[rank - 1], place = i % (n * n);
                return i - place + place % n * n + place / n;
              });
  }

  void indices() {
    plant("off_by_one", fmt::format("counts {} from 1", name_), kFloatingPoint | kIntegers,
          [](TensorData& t, Dtype) {
            for (std::int64_t i = 0; i < t.numel(); ++i) t.set(i, std::max(t.get(i) - 1, 0.0));
            return true;
          });
  }

  void each(std::string_view what, std::string says, DtypeSet dtypes, double (*change)(double)) {
    plant(what, std::move(says), dtypes, [change](TensorData& t, Dtype) {
      t.change_blocks([change](std::int64_t, std::span<double> numbers) {
        for (double& x : numbers) x = change(x);
        return true;
      });
      return true;
    });
  }

  // Integers of 64 bits, of which neither format holds all. What is too large after rounding becomes the least one, as on x86.
  void through(std::string_view what, std::string_view format, double (*rounded)(std::int64_t)) {
    plant(what, fmt::format("reads {} through {}", name_, format), only(Dtype::i64),
          [rounded](TensorData& t, Dtype) {
            bool changed = false;
            for (std::int64_t i = 0; i < t.numel(); ++i) {
              const std::int64_t n = load_integer(t.element(i), t.dtype);
              const double x = rounded(n);
              const std::int64_t now = x < 0x1p63 ? static_cast<std::int64_t>(x) : INT64_MIN;
              changed = changed || now != n;
              store_integer(t.element(i), t.dtype, now);
            }
            return changed;
          });
  }

  void numbers() {
    const DtypeSet wide = only(Dtype::f64) | only(Dtype::f32);
    each("as_bf16", fmt::format("rounds {} to bf16 first", name_), wide,
         [](double x) { return round_to(x, format(Dtype::bf16)); });
    each("as_f16", fmt::format("rounds {} to f16 first", name_), wide,
         [](double x) { return round_to(x, format(Dtype::f16)); });
    each("as_f32", fmt::format("rounds {} to f32 first", name_), only(Dtype::f64),
         [](double x) { return round_to(x, format(Dtype::f32)); });
    each("as_tf32", fmt::format("keeps 11 bits of {}", name_), wide, [](double x) {
      int exponent = 0;
      const double m = std::frexp(x, &exponent);
      return std::isfinite(x) ? std::ldexp(std::nearbyint(std::ldexp(m, 11)), exponent - 11) : x;
    });
    each("as_integer", fmt::format("rounds {} to integers first", name_), kFloatingPoint,
         [](double x) { return std::isfinite(x) ? std::nearbyint(x) : x; });
    each("nan_as_zero", fmt::format("reads NaN in {} as 0", name_), kFloatingPoint,
         [](double x) { return std::isnan(x) ? 0 : x; });
    each("infinity_as_zero", fmt::format("reads infinities in {} as 0", name_), kFloatingPoint,
         [](double x) { return std::isinf(x) ? 0 : x; });
    each("small_as_zero", fmt::format("reads numbers below 2^-10 in {} as 0", name_), kFloatingPoint,
         [](double x) { return std::fabs(x) < 0x1p-10 ? 0 : x; });
    each("clipped", fmt::format("takes numbers of {} above 2^12 as 2^12", name_), kFloatingPoint,
         [](double x) { return std::isnan(x) ? x : std::fmin(std::fmax(x, -0x1p12), 0x1p12); });
    each("sign_lost", fmt::format("reads {} without its sign", name_), kFloatingPoint,
         [](double x) { return std::fabs(x); });
    plant("subnormal_as_zero", fmt::format("reads subnormal numbers in {} as 0", name_), kFloatingPoint,
          [](TensorData& t, Dtype result) {
            // As a processor would: what is subnormal in the format that is computed in.
            const double least = std::min(format(t.dtype).min_normal, format(result).min_normal);
            for (std::int64_t i = 0; i < t.numel(); ++i)
              if (const double x = t.get(i); std::fabs(x) < least) t.set(i, std::copysign(0.0, x));
            return true;
          });
    plant("in_7_bits", fmt::format("keeps the low 7 bits of {}", name_), kArithmeticIntegers,
          [](TensorData& t, Dtype) {
            for (std::int64_t i = 0; i < t.numel(); ++i)
              store_integer(t.element(i), t.dtype, load_integer(t.element(i), t.dtype) & 0x7f);
            return true;
          });
    through("through_f32", "f32", [](std::int64_t n) { return static_cast<double>(static_cast<float>(n)); });
    through("through_f64", "f64", [](std::int64_t n) { return static_cast<double>(n); });
    plant("in_half_the_bits", fmt::format("keeps half the bits of {}", name_), kArithmeticIntegers,
          [](TensorData& t, Dtype) {
            const int lost = 64 - 4 * bytes(t.dtype);
            for (std::int64_t i = 0; i < t.numel(); ++i) {
              const auto low = static_cast<std::uint64_t>(load_integer(t.element(i), t.dtype)) << lost;
              store_integer(t.element(i), t.dtype, static_cast<std::int64_t>(low) >> lost);
            }
            return true;
          });
  }

  std::vector<Variant>& all_;
  std::size_t at_;
  std::string_view name_;
  Domain domain_;
};

}  // namespace

void add_tensor_variants(const Operator& op, std::vector<Variant>& all) {
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const Argument& a = op.schema.argument_storage[i];
    if (a.is_tensor() && !a.list) TensorVariants(op, all, i).add();
  }
}

}  // namespace assay
