#include "ops/cumsum.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Cumsum {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t /*dim*/, std::optional<Dtype> /*dtype*/,
                  Row<S>& out) const {
    running_sums<S>(
        out.size(), [&](std::int64_t k) { return self[out.index(k)]; },
        [&](std::int64_t k, const S& s) { out[k] = s; });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct Exclusive {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    running_sums<S>(
        out.size(), [&](std::int64_t k) { return k == 0 ? S(0) : self[out.index(k - 1)]; },
        [&](std::int64_t k, const S& s) { out[k] = s; });
  }
};

const EnrolledReference cumsum_reference{reference<ops::cumsum, Cumsum>()};

const EnrolledWrong cumsum_wrong[] = {
    EnrolledWrong{wrong_formula<ops::cumsum, Exclusive>("exclusive", "leaves self[k] out of out[k]")}};

}  // namespace
}  // namespace assay
