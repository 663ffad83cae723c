#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "function_tables.h"
#include "row_statistics.h"

namespace assay::diagnose {
namespace {

using namespace rows;

template <class F>
void each(Row v, std::span<double> out, const F& f) {
  for (std::size_t i = 0; i < v.size(); ++i) out[i] = f(v[i]);
}
template <class F>
void scan(Row v, std::span<double> out, const F& f, bool backwards = false) {
  double so_far = 0;
  for (std::size_t k = 0; k < v.size(); ++k) {
    const std::size_t i = backwards ? v.size() - 1 - k : k;
    so_far = k == 0 ? v[i] : f(so_far, v[i]);
    out[i] = so_far;
  }
}
void soft(Row v, std::span<double> out, double base) {
  const double top = base > 1 ? most(v) : least(v);
  each(v, out, [=](double x) { return std::pow(base, x - top); });
  const double sum = total(out);
  each(out, out, [=](double x) { return x / sum; });
}

// Softmax and the norm of a kernel that adds up a part of a row: of its first elements, or of whole vectors.
enum class PartOfRow { first, vectors };
template <PartOfRow kPart, std::size_t kSize>
Row part_of(Row v) {
  return v.first(kPart == PartOfRow::first ? std::min(kSize, v.size()) : v.size() / kSize * kSize);
}
template <PartOfRow kPart, std::size_t kSize>
void soft_by_part(Row v, double, std::span<double> out) {
  const double top = most(v),
               sum = sum_of(part_of<kPart, kSize>(v), [top](double x) { return std::exp(x - top); });
  each(v, out, [=](double x) { return std::exp(x - top) / sum; });
}
template <PartOfRow kPart, std::size_t kSize>
void norm_by_part(Row v, double eps, std::span<double> out) {
  const Row part = part_of<kPart, kSize>(v);
  const double m = total(part) / length(v);
  const double variance = sum_of(part, [m](double x) { return (x - m) * (x - m); }) / length(v);
  each(v, out, [m, d = std::sqrt(variance + eps)](double x) { return (x - m) / d; });
}

constexpr double kE = 2.718281828459045235;

constexpr RowFunction kFunctions[] = {
    {"(x - mean) / standard deviation, by n - 1",
     [](Row v, double, std::span<double> out) {
       each(v, out, [m = mean(v), d = std::sqrt(moment(v, 2) / (length(v) - 1))](double x) { return (x - m) / d; });
     }},
    {"(x - mean) / (standard deviation + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = mean(v), d = std::sqrt(moment(v, 2) / length(v)) + eps](double x) { return (x - m) / d; });
     }},
    {"(x - mean) / (standard deviation, by n - 1, + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = mean(v), d = std::sqrt(moment(v, 2) / (length(v) - 1)) + eps](double x) { return (x - m) / d; });
     }},
    {"(x - mean) / (variance + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = mean(v), d = moment(v, 2) / length(v) + eps](double x) { return (x - m) / d; });
     }},
    {"x / sqrt(variance + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = std::sqrt(moment(v, 2) / length(v) + eps)](double x) { return x / d; });
     }},
    {"x - mean", [](Row v, double, std::span<double> out) { each(v, out, [m = mean(v)](double x) { return x - m; }); }},
    {"x - median", [](Row v, double, std::span<double> out) { each(v, out, [m = median(v)](double x) { return x - m; }); }},
    {"x - largest", [](Row v, double, std::span<double> out) { each(v, out, [m = most(v)](double x) { return x - m; }); }},
    {"(x - mean) / (mean |x - mean| + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = mean(v), d = mean_deviation(v) + eps](double x) { return (x - m) / d; });
     }},
    {"(x - median) / (median |x - median| + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = median(v), d = median_deviation(v) + eps](double x) { return (x - m) / d; });
     }},
    {"(x - median) / (distance between the quartiles + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out,
            [m = median(v), d = quantile(v, 0.75) - quantile(v, 0.25) + eps](double x) { return (x - m) / d; });
     }},
    {"(x - smallest) / (largest - smallest + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = least(v), d = most(v) - least(v) + eps](double x) { return (x - m) / d; });
     }},
    {"2 (x - smallest) / (largest - smallest + eps) - 1",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = least(v), d = most(v) - least(v) + eps](double x) { return 2 * (x - m) / d - 1; });
     }},
    {"(x - mean) / (largest - smallest + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [m = mean(v), d = most(v) - least(v) + eps](double x) { return (x - m) / d; });
     }},
    {"x / (largest |x| + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = std::max(std::fabs(most(v)), std::fabs(least(v))) + eps](double x) { return x / d; });
     }},
    {"x / (sum + eps)",
     [](Row v, double eps, std::span<double> out) { each(v, out, [d = total(v) + eps](double x) { return x / d; }); }},
    {"x / (sum |x| + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = absolutes(v) + eps](double x) { return x / d; });
     }},
    {"x / (mean |x| + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = absolutes(v) / length(v) + eps](double x) { return x / d; });
     }},
    {"x / (Euclidean norm + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = std::sqrt(squares(v)) + eps](double x) { return x / d; });
     }},
    {"x / sqrt(sum of squares + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = std::sqrt(squares(v) + eps)](double x) { return x / d; });
     }},
    {"x / sqrt(mean square + eps)",
     [](Row v, double eps, std::span<double> out) {
       each(v, out, [d = std::sqrt(squares(v) / length(v) + eps)](double x) { return x / d; });
     }},
    {"(x - mean) / Euclidean norm of x - mean",
     [](Row v, double, std::span<double> out) {
       each(v, out, [m = mean(v), d = std::sqrt(moment(v, 2))](double x) { return (x - m) / d; });
     }},
    {"softmax", [](Row v, double, std::span<double> out) { soft(v, out, kE); }},
    {"softmax of -x", [](Row v, double, std::span<double> out) { soft(v, out, 1 / kE); }},
    {"softmax to base 2", [](Row v, double, std::span<double> out) { soft(v, out, 2); }},
    {"softmax, with the sum of the first 16 alone", soft_by_part<PartOfRow::first, 16>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 16 alone", norm_by_part<PartOfRow::first, 16>},
    {"softmax, with the sum of the first 32 alone", soft_by_part<PartOfRow::first, 32>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 32 alone", norm_by_part<PartOfRow::first, 32>},
    {"softmax, with the sum of the first 64 alone", soft_by_part<PartOfRow::first, 64>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 64 alone", norm_by_part<PartOfRow::first, 64>},
    {"softmax, with the sum of the first 128 alone", soft_by_part<PartOfRow::first, 128>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 128 alone", norm_by_part<PartOfRow::first, 128>},
    {"softmax, with the sum of the first 256 alone", soft_by_part<PartOfRow::first, 256>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 256 alone", norm_by_part<PartOfRow::first, 256>},
    {"softmax, with the sum of the first 512 alone", soft_by_part<PartOfRow::first, 512>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 512 alone", norm_by_part<PartOfRow::first, 512>},
    {"softmax, with the sum of the first 1024 alone", soft_by_part<PartOfRow::first, 1024>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 1024 alone", norm_by_part<PartOfRow::first, 1024>},
    {"softmax, with the sum of the first 2048 alone", soft_by_part<PartOfRow::first, 2048>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 2048 alone", norm_by_part<PartOfRow::first, 2048>},
    {"softmax, with the sum of the first 4096 alone", soft_by_part<PartOfRow::first, 4096>},
    {"(x - mean) / sqrt(variance + eps), with sums of the first 4096 alone", norm_by_part<PartOfRow::first, 4096>},
    {"softmax, with the sum of whole vectors of 2 alone", soft_by_part<PartOfRow::vectors, 2>},
    {"(x - mean) / sqrt(variance + eps), with sums of whole vectors of 2 alone", norm_by_part<PartOfRow::vectors, 2>},
    {"softmax, with the sum of whole vectors of 4 alone", soft_by_part<PartOfRow::vectors, 4>},
    {"(x - mean) / sqrt(variance + eps), with sums of whole vectors of 4 alone", norm_by_part<PartOfRow::vectors, 4>},
    {"softmax, with the sum of whole vectors of 128 alone", soft_by_part<PartOfRow::vectors, 128>},
    {"(x - mean) / sqrt(variance + eps), with sums of whole vectors of 128 alone", norm_by_part<PartOfRow::vectors, 128>},
    {"softmax, with the sum of whole vectors of 256 alone", soft_by_part<PartOfRow::vectors, 256>},
    {"(x - mean) / sqrt(variance + eps), with sums of whole vectors of 256 alone", norm_by_part<PartOfRow::vectors, 256>},
    {"softmax, with the sum of whole vectors of 512 alone", soft_by_part<PartOfRow::vectors, 512>},
    {"(x - mean) / sqrt(variance + eps), with sums of whole vectors of 512 alone", norm_by_part<PartOfRow::vectors, 512>},
    {"softmax, with the sum of whole vectors of 1024 alone", soft_by_part<PartOfRow::vectors, 1024>},
    {"(x - mean) / sqrt(variance + eps), with sums of whole vectors of 1024 alone", norm_by_part<PartOfRow::vectors, 1024>},
    {"1 - softmax",
     [](Row v, double, std::span<double> out) {
       soft(v, out, kE);
       each(out, out, [](double x) { return 1 - x; });
     }},
    {"softmax, quiet (one more in the sum)",
     [](Row v, double, std::span<double> out) {
       const double sum = 1 + sum_of(v, [](double x) { return std::exp(x); });
       each(v, out, [sum](double x) { return std::exp(x) / sum; });
     }},
    {"exp(x - largest)",
     [](Row v, double, std::span<double> out) { each(v, out, [m = most(v)](double x) { return std::exp(x - m); }); }},
    {"logsoftmax", [](Row v, double, std::span<double> out) { each(v, out, [l = log_sum_exp(v)](double x) { return x - l; }); }},
    {"-logsoftmax", [](Row v, double, std::span<double> out) { each(v, out, [l = log_sum_exp(v)](double x) { return l - x; }); }},
    {"max(x, 0) over its sum",
     [](Row v, double, std::span<double> out) {
       const double sum = sum_of(v, [](double x) { return std::max(x, 0.0); });
       each(v, out, [sum](double x) { return std::max(x, 0.0) / sum; });
     }},
    {"x^2 over its sum",
     [](Row v, double, std::span<double> out) { each(v, out, [s = squares(v)](double x) { return x * x / s; }); }},
    {"sparsemax",
     [](Row v, double, std::span<double> out) {  // Martins and Astudillo 2016
       std::vector<double> s = sorted(v);
       std::ranges::reverse(s);
       double sum = 0, threshold = 0;
       for (std::size_t k = 0; k < s.size(); ++k) {
         sum += s[k];
         if (1 + static_cast<double>(k + 1) * s[k] > sum) threshold = (sum - 1) / static_cast<double>(k + 1);
       }
       each(v, out, [threshold](double x) { return std::max(x - threshold, 0.0); });
     }},
    {"the sum of all up to x", [](Row v, double, std::span<double> out) { scan(v, out, std::plus<>()); }},
    {"the sum of all from x on", [](Row v, double, std::span<double> out) { scan(v, out, std::plus<>(), true); }},
    {"the product of all up to x", [](Row v, double, std::span<double> out) { scan(v, out, std::multiplies<>()); }},
    {"the product of all from x on",
     [](Row v, double, std::span<double> out) { scan(v, out, std::multiplies<>(), true); }},
    {"the largest of all up to x",
     [](Row v, double, std::span<double> out) { scan(v, out, [](double a, double b) { return std::max(a, b); }); }},
    {"the smallest of all up to x",
     [](Row v, double, std::span<double> out) { scan(v, out, [](double a, double b) { return std::min(a, b); }); }},
    {"the sum of absolute values up to x",
     [](Row v, double, std::span<double> out) {
       each(v, out, [](double x) { return std::fabs(x); });
       scan(out, out, std::plus<>());
     }},
    {"the sum of squares up to x",
     [](Row v, double, std::span<double> out) {
       each(v, out, [](double x) { return x * x; });
       scan(out, out, std::plus<>());
     }},
    {"the mean of all up to x",
     [](Row v, double, std::span<double> out) {
       scan(v, out, std::plus<>());
       for (std::size_t i = 0; i < out.size(); ++i) out[i] /= static_cast<double>(i + 1);
     }},
    {"the logarithm of the sum of exponentials up to x",
     [](Row v, double, std::span<double> out) {
       scan(v, out, [](double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))); });
     }},
    {"the difference from the element before",
     [](Row v, double, std::span<double> out) {
       for (std::size_t i = v.size(); i-- > 0;) out[i] = i == 0 ? v[0] : v[i] - v[i - 1];
     }},
    {"x, sorted",
     [](Row v, double, std::span<double> out) { std::ranges::copy(sorted(v), out.begin()); }},
    {"x, sorted, the largest first",
     [](Row v, double, std::span<double> out) {
       const std::vector<double> s = sorted(v);
       std::copy(s.rbegin(), s.rend(), out.begin());
     }},
    {"the sums of 2, the element and the one before",
     [](Row v, double, std::span<double> out) {
       for (std::size_t i = v.size(); i-- > 0;) out[i] = i == 0 ? v[0] : v[i] + v[i - 1];
     }},
    {"the sums of 3, the element and those before",
     [](Row v, double, std::span<double> out) {
       for (std::size_t i = v.size(); i-- > 0;)
         out[i] = v[i] + (i > 0 ? v[i - 1] : 0) + (i > 1 ? v[i - 2] : 0);
     }},
    {"a mean that forgets, 0.9 of the one before and 0.1 of x",
     [](Row v, double, std::span<double> out) { scan(v, out, [](double a, double b) { return 0.9 * a + 0.1 * b; }); }},
};

}  // namespace

std::span<const RowFunction> row_functions() { return kFunctions; }

}  // namespace assay::diagnose
