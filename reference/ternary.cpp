#include "ops/ternary.h"

#include "pointwise.h"

namespace assay {
namespace {

const EnrolledReference ternary_reference[] = {
    // The product of three in either order.
    EnrolledReference{pointwise<ops::addcmul>([]<class S>(S self, S a, S b, S value) {
      return self + either(value * a * b, [&] { return value * (a * b); });
    })},
    EnrolledReference{pointwise<ops::addcdiv>([]<class S>(S self, S a, S b, S value) {
      return self + either(value * a / b, [&] { return value * (a / b); });
    })},
    // From the nearer end, or always from the first: end - (end - self) (1 - weight).
    EnrolledReference{pointwise<ops::lerp_tensor>([]<class S>(S self, S end, S weight) {
      return either(self + weight * (end - self), [&] { return end - (end - self) * (S(1) - weight); });
    })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong ternary_wrong[] = {
    EnrolledWrong{pointwise_wrong<ops::addcmul>("value_lost", "leaves value out",
                                                []<class S>(S self, S a, S b, S) { return self + a * b; })},
    EnrolledWrong{pointwise_wrong<ops::addcmul>(
        "value_of_first", "multiplies self by value",
        []<class S>(S self, S a, S b, S value) { return value * self + a * b; })},
    EnrolledWrong{pointwise_wrong<ops::addcmul>(
                      "divided", "divides, as addcdiv does",
                      []<class S>(S self, S a, S b, S value) { return self + value * (a / b); },
                      kFloatingPoint)
                      .as_defined_by("addcdiv")},
    EnrolledWrong{pointwise_wrong<ops::addcdiv>("value_lost", "leaves value out",
                                                []<class S>(S self, S a, S b, S) { return self + a / b; })},
    EnrolledWrong{pointwise_wrong<ops::addcdiv>(
                      "multiplied", "multiplies, as addcmul does",
                      []<class S>(S self, S a, S b, S value) { return self + value * (a * b); })
                      .as_defined_by("addcmul")},
    EnrolledWrong{pointwise_wrong<ops::addcdiv>(
        "swapped", "divides the second by the first",
        []<class S>(S self, S a, S b, S value) { return self + value * (b / a); })},
    EnrolledWrong{pointwise_wrong<ops::lerp_tensor>(
        "ends_swapped", "takes weight for the share of self",
        []<class S>(S self, S end, S weight) { return end + weight * (self - end); })},
    EnrolledWrong{pointwise_wrong<ops::lerp_tensor>("clipped", "brings weight between 0 and 1 first",
                                                    []<class S>(S self, S end, S weight) {
                                                      return self + minimum(maximum(weight, S(0)), S(1)) *
                                                                        (end - self);
                                                    })},
};

}  // namespace
}  // namespace assay
