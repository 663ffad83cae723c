#include "ops/comparison.h"

#include "in_f32.h"
#include "pointwise.h"

namespace assay {
namespace {

template <class S, class Truth>
S truth(Truth condition) {
  return select(condition, S(1), S(0));
}
// a != b, of the truth values of any scalar.
template <class Truth>
Truth different(Truth a, Truth b) {
  return (a && !b) || (!a && b);
}

const EnrolledReference comparison_reference[] = {
    EnrolledReference{pointwise<ops::eq_tensor>([]<class S>(S x, S y) { return truth<S>(x == y); })},
    EnrolledReference{pointwise<ops::eq_scalar>([]<class S>(S x, S y) { return truth<S>(x == y); })},
    EnrolledReference{pointwise<ops::ne_tensor>([]<class S>(S x, S y) { return truth<S>(x != y); })},
    EnrolledReference{pointwise<ops::ne_scalar>([]<class S>(S x, S y) { return truth<S>(x != y); })},
    EnrolledReference{pointwise<ops::lt_tensor>([]<class S>(S x, S y) { return truth<S>(x < y); })},
    EnrolledReference{pointwise<ops::lt_scalar>([]<class S>(S x, S y) { return truth<S>(x < y); })},
    EnrolledReference{pointwise<ops::le_tensor>([]<class S>(S x, S y) { return truth<S>(x <= y); })},
    EnrolledReference{pointwise<ops::le_scalar>([]<class S>(S x, S y) { return truth<S>(x <= y); })},
    EnrolledReference{pointwise<ops::gt_tensor>([]<class S>(S x, S y) { return truth<S>(x > y); })},
    EnrolledReference{pointwise<ops::gt_scalar>([]<class S>(S x, S y) { return truth<S>(x > y); })},
    EnrolledReference{pointwise<ops::ge_tensor>([]<class S>(S x, S y) { return truth<S>(x >= y); })},
    EnrolledReference{pointwise<ops::ge_scalar>([]<class S>(S x, S y) { return truth<S>(x >= y); })},
    EnrolledReference{
        pointwise<ops::logical_and>([]<class S>(S x, S y) { return truth<S>(x != S(0) && y != S(0)); })},
    EnrolledReference{
        pointwise<ops::logical_or>([]<class S>(S x, S y) { return truth<S>(x != S(0) || y != S(0)); })},
    EnrolledReference{pointwise<ops::logical_xor>(
        []<class S>(S x, S y) { return truth<S>(different(x != S(0), y != S(0))); })},
    EnrolledReference{pointwise<ops::logical_not>([]<class S>(S x) { return truth<S>(x == S(0)); })},
    EnrolledReference{pointwise<ops::isnan>([]<class S>(S x) { return truth<S>(is_nan(x)); })},
    EnrolledReference{pointwise<ops::isinf>([]<class S>(S x) { return truth<S>(abs(x) == S(HUGE_VAL)); })},
    EnrolledReference{pointwise<ops::isfinite>([]<class S>(S x) { return truth<S>(abs(x) < S(HUGE_VAL)); })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong
    comparison_wrong[] =
        {
            EnrolledWrong{pointwise_wrong<ops::eq_tensor>(
                "opposite", "gives !(x == y)", []<class S>(S x, S y) { return truth<S>(!(x == y)); })},
            EnrolledWrong{pointwise_wrong<ops::eq_scalar>(
                "opposite", "gives !(x == y)", []<class S>(S x, S y) { return truth<S>(!(x == y)); })},
            EnrolledWrong{pointwise_wrong<ops::eq_tensor>(
                "nan_equal", "takes NaN for equal to NaN",
                []<class S>(S x, S y) { return truth<S>(x == y || (is_nan(x) && is_nan(y))); },
                kFloatingPoint)},
            EnrolledWrong{pointwise_wrong<ops::eq_tensor>(
                "nearly", "takes numbers for equal that differ by less than 1e-6",
                []<class S>(S x, S y) { return truth<S>(abs(x - y) < S(1e-6) || x == y); },
                only(Dtype::f64) | only(Dtype::f32))},
            EnrolledWrong{pointwise_wrong<ops::ne_tensor>(
                "opposite", "gives !(x != y)", []<class S>(S x, S y) { return truth<S>(!(x != y)); })},
            EnrolledWrong{pointwise_wrong<ops::ne_scalar>(
                "opposite", "gives !(x != y)", []<class S>(S x, S y) { return truth<S>(!(x != y)); })},
            EnrolledWrong{pointwise_wrong<ops::ne_tensor>(
                "nan_equal", "takes NaN for equal to NaN",
                []<class S>(S x, S y) { return truth<S>(x != y && !(is_nan(x) && is_nan(y))); },
                kFloatingPoint)},
            EnrolledWrong{pointwise_wrong<ops::ne_tensor>(
                "nearly", "takes numbers for equal that differ by less than 1e-6",
                []<class S>(S x, S y) { return truth<S>(!(abs(x - y) < S(1e-6) || x == y)); },
                only(Dtype::f64) | only(Dtype::f32))},
            EnrolledWrong{pointwise_wrong<ops::lt_tensor>(
                "opposite", "gives !(x < y)", []<class S>(S x, S y) { return truth<S>(!(x < y)); })},
            EnrolledWrong{pointwise_wrong<ops::lt_tensor>("of_equal", "gives x <= y",
                                                          []<class S>(S x, S y) { return truth<S>(x <= y); })
                              .as_defined_by("le")},
            EnrolledWrong{
                pointwise_wrong<ops::lt_scalar>("opposite", "gives !(x < y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x < y)); })},
            EnrolledWrong{pointwise_wrong<ops::lt_scalar>(
                              "of_equal",
                              "gives x <= y", []<class S>(S x, S y) { return truth<S>(x <= y); })
                              .as_defined_by("le")},
            EnrolledWrong{
                pointwise_wrong<ops::lt_tensor>(
                    "unordered", "gives !(x >= y), which is true of NaN",
                    []<class S>(S x, S y) { return truth<S>(!(x >= y)); }, kFloatingPoint)},
            EnrolledWrong{
                pointwise_wrong<ops::lt_tensor>(
                    "of_difference", "compares x - y with 0, which is NaN for two infinities",
                    []<class S>(S x, S y) { return truth<S>(x - y < S(0)); }, only(Dtype::i64))},
            EnrolledWrong{
                pointwise_wrong<ops::le_tensor>("opposite", "gives !(x <= y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x <= y)); })},
            EnrolledWrong{pointwise_wrong<ops::le_tensor>("of_equal", "gives x < y",
                                                          []<class S>(S x, S y) { return truth<S>(x < y); })
                              .as_defined_by("lt")},
            EnrolledWrong{
                pointwise_wrong<ops::le_scalar>("opposite", "gives !(x <= y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x <= y)); })},
            EnrolledWrong{pointwise_wrong<ops::le_scalar>("of_equal", "gives x < y",
                                                          []<class S>(S x, S y) { return truth<S>(x < y); })
                              .as_defined_by("lt")},
            EnrolledWrong{
                pointwise_wrong<ops::le_tensor>(
                    "nan_equal", "takes NaN for equal to NaN",
                    []<class S>(S x, S y) { return truth<S>(x <= y || (is_nan(x) && is_nan(y))); },
                    kFloatingPoint)},
            EnrolledWrong{
                pointwise_wrong<ops::le_tensor>(
                    "unordered", "gives !(x > y), which is true of NaN",
                    []<class S>(S x, S y) { return truth<S>(!(x > y)); }, kFloatingPoint)},
            EnrolledWrong{
                pointwise_wrong<ops::gt_tensor>("opposite", "gives !(x > y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x > y)); })},
            EnrolledWrong{pointwise_wrong<ops::gt_tensor>(
                              "of_equal",
                              "gives x >= y", []<class S>(S x, S y) { return truth<S>(x >= y); })
                              .as_defined_by("ge")},
            EnrolledWrong{
                pointwise_wrong<ops::gt_scalar>("opposite", "gives !(x > y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x > y)); })},
            EnrolledWrong{pointwise_wrong<ops::gt_scalar>(
                              "of_equal",
                              "gives x >= y", []<class S>(S x, S y) { return truth<S>(x >= y); })
                              .as_defined_by("ge")},
            EnrolledWrong{
                pointwise_wrong<ops::gt_tensor>(
                    "unordered", "gives !(x <= y), which is true of NaN",
                    []<class S>(S x, S y) { return truth<S>(!(x <= y)); }, kFloatingPoint)},
            EnrolledWrong{
                pointwise_wrong<ops::gt_tensor>(
                    "of_difference", "compares x - y with 0, which is NaN for two infinities",
                    []<class S>(S x, S y) { return truth<S>(x - y > S(0)); }, only(Dtype::i64))},
            EnrolledWrong{
                pointwise_wrong<ops::ge_tensor>("opposite", "gives !(x >= y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x >= y)); })},
            EnrolledWrong{pointwise_wrong<ops::ge_tensor>("of_equal", "gives x > y",
                                                          []<class S>(S x, S y) { return truth<S>(x > y); })
                              .as_defined_by("gt")},
            EnrolledWrong{
                pointwise_wrong<ops::ge_scalar>("opposite", "gives !(x >= y)",
                                                []<class S>(S x, S y) { return truth<S>(!(x >= y)); })},
            EnrolledWrong{pointwise_wrong<ops::ge_scalar>("of_equal", "gives x > y",
                                                          []<class S>(S x, S y) { return truth<S>(x > y); })
                              .as_defined_by("gt")},
            EnrolledWrong{
                pointwise_wrong<ops::ge_tensor>(
                    "nan_equal", "takes NaN for equal to NaN",
                    []<class S>(S x, S y) { return truth<S>(x >= y || (is_nan(x) && is_nan(y))); },
                    kFloatingPoint)},
            EnrolledWrong{
                pointwise_wrong<ops::ge_tensor>(
                    "unordered", "gives !(x < y), which is true of NaN",
                    []<class S>(S x, S y) { return truth<S>(!(x < y)); }, kFloatingPoint)},
            EnrolledWrong{
                pointwise_wrong<ops::logical_and>("or", "gives true where one of them is not 0",
                                                  []<class S>(S x, S y) {
                                                    return truth<S>(x != S(0) || y != S(0));
                                                  })},
            EnrolledWrong{
                pointwise_wrong<ops::logical_and>(
                    "of_bits", "joins the numbers bit by bit: of 1 and 2 nothing is left",
                    []<class S>(S x, S y) {
                      if constexpr (std::is_same_v<S, Integer>)
                        return truth<S>(Integer(x.value & y.value) != S(0));
                      else
                        return truth<S>(x != S(0) && y != S(0));
                    },
                    kArithmeticIntegers)},
            EnrolledWrong{pointwise_wrong<ops::logical_and>(
                "of_product", "compares the product with 0, which underflows",
                []<class S>(S x, S y) { return truth<S>(in_f32(x * y) != S(0)); }, only(Dtype::f32))},
            EnrolledWrong{pointwise_wrong<ops::logical_and>(
                "nan_false", "takes NaN for false",
                []<class S>(S x, S y) { return truth<S>((x < S(0) || x > S(0)) && (y < S(0) || y > S(0))); },
                kFloatingPoint)},
            EnrolledWrong{pointwise_wrong<ops::logical_or>(
                "of_sum", "compares the sum with 0, which is 0 for 1 and -1",
                []<class S>(S x, S y) { return truth<S>(x + y != S(0)); },
                kFloatingPoint | only(Dtype::i64) | only(Dtype::i32) | only(Dtype::i16) | only(Dtype::i8))},
            EnrolledWrong{pointwise_wrong<ops::logical_or>(
                "and", "gives true where neither is 0",
                []<class S>(S x, S y) { return truth<S>(x != S(0) && y != S(0)); })},
            EnrolledWrong{pointwise_wrong<ops::logical_xor>(
                "unequal", "gives x != y, of numbers and not of their truth",
                []<class S>(S x, S y) { return truth<S>(x != y); }, kFloatingPoint | kArithmeticIntegers)},
            EnrolledWrong{pointwise_wrong<ops::logical_xor>(
                "or", "gives true where one of them is not 0",
                []<class S>(S x, S y) { return truth<S>(x != S(0) || y != S(0)); })},
            EnrolledWrong{pointwise_wrong<ops::logical_not>(
                "nan_true", "gives !(x < 0 or x > 0), which is true of NaN",
                []<class S>(S x) { return truth<S>(!(x < S(0) || x > S(0))); }, kFloatingPoint)},
            EnrolledWrong{pointwise_wrong<ops::logical_not>(
                "identity", "gives x != 0", []<class S>(S x) { return truth<S>(x != S(0)); })},
            EnrolledWrong{pointwise_wrong<ops::logical_not>(
                "not_positive", "gives x <= 0", []<class S>(S x) { return truth<S>(!(x > S(0))); },
                kFloatingPoint | only(Dtype::i64) | only(Dtype::i32) | only(Dtype::i16) | only(Dtype::i8))},
            EnrolledWrong{pointwise_wrong<ops::isnan>(
                "of_exponent", "takes infinities for NaN, as a look at the exponent does",
                []<class S>(S x) { return truth<S>(!(abs(x) < S(HUGE_VAL))); })},
            EnrolledWrong{pointwise_wrong<ops::isnan>("opposite", "gives x == x",
                                                      []<class S>(S x) { return truth<S>(!is_nan(x)); })},
            EnrolledWrong{
                pointwise_wrong<ops::isinf>("positive_only", "is true of +infinity alone",
                                            []<class S>(S x) { return truth<S>(x == S(HUGE_VAL)); })},
            EnrolledWrong{
                pointwise_wrong<ops::isinf>("of_exponent", "takes NaN for infinite",
                                            []<class S>(S x) { return truth<S>(!(abs(x) < S(HUGE_VAL))); })},
            EnrolledWrong{pointwise_wrong<ops::isinf>(
                "largest", "takes the largest number of f32 for infinite",
                []<class S>(S x) { return truth<S>(abs(x) >= S(3.4028234663852886e38)); }, only(Dtype::f32))},
            EnrolledWrong{pointwise_wrong<ops::isfinite>("not_nan", "gives x == x, also of infinities",
                                                         []<class S>(S x) { return truth<S>(!is_nan(x)); })},
            EnrolledWrong{pointwise_wrong<ops::isfinite>(
                "not_infinite", "is true of NaN",
                []<class S>(S x) { return truth<S>(!(abs(x) == S(HUGE_VAL))); })},
};

}  // namespace
}  // namespace assay
