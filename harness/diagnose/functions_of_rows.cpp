#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "function_tables.h"
#include "row_statistics.h"

namespace assay::diagnose {
namespace {

using namespace rows;

constexpr RowNumber kNumbers[] = {
    {"the sum", total},
    {"the mean", mean},
    {"the smallest", least},
    {"the largest", most},
    {"the largest absolute value",
     [](Row v) {
       return std::fabs(*std::ranges::max_element(v, {}, [](double x) { return std::fabs(x); }));
     }},
    {"the smallest absolute value",
     [](Row v) {
       return std::fabs(*std::ranges::min_element(v, {}, [](double x) { return std::fabs(x); }));
     }},
    {"the number with the largest absolute value",
     [](Row v) { return *std::ranges::max_element(v, {}, [](double x) { return std::fabs(x); }); }},
    {"the second largest", [](Row v) { return sorted(v)[v.size() - 2]; }},
    {"the second smallest", [](Row v) { return sorted(v)[1]; }},
    {"the first", [](Row v) { return v.front(); }},
    {"the last", [](Row v) { return v.back(); }},
    {"the one in the middle", [](Row v) { return v[v.size() / 2]; }},
    {"the median, the lower of two", lower_median},
    {"the median, the upper of two", upper_median},
    {"the median, the mean of two", median},
    {"the lower quartile", [](Row v) { return quantile(v, 0.25); }},
    {"the upper quartile", [](Row v) { return quantile(v, 0.75); }},
    {"the distance between the quartiles", [](Row v) { return quantile(v, 0.75) - quantile(v, 0.25); }},
    {"the range, largest minus smallest,", [](Row v) { return most(v) - least(v); }},
    {"the middle of the range, (largest + smallest) / 2,", [](Row v) { return (most(v) + least(v)) / 2; }},
    {"the distance of the largest from the mean", [](Row v) { return most(v) - mean(v); }},
    {"the product", [](Row v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); }},
    {"the sum of squares", squares},
    {"the mean square", [](Row v) { return squares(v) / length(v); }},
    {"the root of the mean square", [](Row v) { return std::sqrt(squares(v) / length(v)); }},
    {"the Euclidean norm", [](Row v) { return std::sqrt(squares(v)); }},
    {"the sum of absolute values", absolutes},
    {"the mean absolute value", [](Row v) { return absolutes(v) / length(v); }},
    {"the cubic norm",
     [](Row v) { return std::cbrt(sum_of(v, [](double x) { return std::fabs(x * x * x); })); }},
    {"the square of the sum", [](Row v) { return total(v) * total(v); }},
    {"the square of the mean", [](Row v) { return mean(v) * mean(v); }},
    {"the absolute value of the sum", [](Row v) { return std::fabs(total(v)); }},
    {"the negative sum", [](Row v) { return -total(v); }},
    {"the variance, by n,", [](Row v) { return moment(v, 2) / length(v); }},
    {"the variance, by n - 1,", [](Row v) { return moment(v, 2) / (length(v) - 1); }},
    {"the sum of squared distances from the mean", [](Row v) { return moment(v, 2); }},
    {"the standard deviation, by n,", [](Row v) { return std::sqrt(moment(v, 2) / length(v)); }},
    {"the standard deviation, by n - 1,", [](Row v) { return std::sqrt(moment(v, 2) / (length(v) - 1)); }},
    {"the standard error of the mean, by n - 1,",
     [](Row v) { return std::sqrt(moment(v, 2) / (length(v) - 1) / length(v)); }},
    {"the standard error of the mean, by n,", [](Row v) { return std::sqrt(moment(v, 2)) / length(v); }},
    {"the coefficient of variation, by n,",
     [](Row v) { return std::sqrt(moment(v, 2) / length(v)) / mean(v); }},
    {"the coefficient of variation, by n - 1,",
     [](Row v) { return std::sqrt(moment(v, 2) / (length(v) - 1)) / mean(v); }},
    {"the signal-to-noise ratio, mean over standard deviation,",
     [](Row v) { return mean(v) / std::sqrt(moment(v, 2) / length(v)); }},
    {"the variance over the mean, by n,", [](Row v) { return moment(v, 2) / length(v) / mean(v); }},
    {"the skewness",
     [](Row v) { return moment(v, 3) / length(v) / std::pow(moment(v, 2) / length(v), 1.5); }},
    {"the kurtosis", [](Row v) { return moment(v, 4) / length(v) / std::pow(moment(v, 2) / length(v), 2); }},
    {"the excess kurtosis",
     [](Row v) { return moment(v, 4) / length(v) / std::pow(moment(v, 2) / length(v), 2) - 3; }},
    {"the mean absolute distance from the mean", mean_deviation},
    {"the median absolute distance from the median", median_deviation},
    {"the geometric mean",
     [](Row v) { return std::exp(sum_of(v, [](double x) { return std::log(x); }) / length(v)); }},
    {"the geometric mean of absolute values",
     [](Row v) { return std::exp(sum_of(v, [](double x) { return std::log(std::fabs(x)); }) / length(v)); }},
    {"the harmonic mean", [](Row v) { return length(v) / sum_of(v, [](double x) { return 1 / x; }); }},
    {"logsumexp", log_sum_exp},
    {"logsumexp minus log(n)", [](Row v) { return log_sum_exp(v) - std::log(length(v)); }},
    {"the sum of exponentials", [](Row v) { return sum_of(v, [](double x) { return std::exp(x); }); }},
    {"the mean without the smallest and the largest",
     [](Row v) { return (total(v) - least(v) - most(v)) / (length(v) - 2); }},
    {"the sum of positive numbers",
     [](Row v) { return sum_of(v, [](double x) { return std::max(x, 0.0); }); }},
    {"the sum of negative numbers",
     [](Row v) { return sum_of(v, [](double x) { return std::min(x, 0.0); }); }},
    {"the mean of positive numbers",
     [](Row v) {
       return sum_of(v, [](double x) { return std::max(x, 0.0); }) /
              static_cast<double>(std::ranges::count_if(v, [](double x) { return x > 0; }));
     }},
    {"the mean of numbers that are not 0",
     [](Row v) {
       return total(v) / static_cast<double>(std::ranges::count_if(v, [](double x) { return x != 0; }));
     }},
    {"the entropy of its softmax",
     [](Row v) {
       const double l = log_sum_exp(v);
       return -sum_of(v, [l](double x) { return std::exp(x - l) * (x - l); });
     }},
    {"the sum with alternating signs",
     [](Row v) {
       double sum = 0;
       for (std::size_t i = 0; i < v.size(); ++i) sum += i % 2 == 0 ? v[i] : -v[i];
       return sum;
     }},
    {"the mean of the first half", [](Row v) { return mean(v.first(v.size() / 2)); }},
    {"the mean of the second half", [](Row v) { return mean(v.subspan(v.size() / 2)); }},
    {"the sum by the trapezoidal rule", [](Row v) { return total(v) - (v.front() + v.back()) / 2; }},
    {"the sum of the absolute differences of neighbours",
     [](Row v) {
       double sum = 0;
       for (std::size_t i = 1; i < v.size(); ++i) sum += std::fabs(v[i] - v[i - 1]);
       return sum;
     }},
};

}  // namespace

std::span<const RowNumber> row_numbers() { return kNumbers; }

}  // namespace assay::diagnose
