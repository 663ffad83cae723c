#include "ops/embedding.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Embedding {
  template <class S>
  S operator()(const Tensor<S>& weight, const Tensor<S>& indices, std::int64_t, bool, bool,
               const Index& i) const {
    return weight(indices.integer_at(i.number() / weight.size(1)), i[i.rank() - 1]);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct PaddingAsZeros {
  template <class S>
  S operator()(const Tensor<S>& weight, const Tensor<S>& indices, std::int64_t padding_idx, bool, bool,
               const Index& i) const {
    const std::int64_t row = indices.integer_at(i.number() / weight.size(1));
    return row == padding_idx ? S(0) : weight(row, i[i.rank() - 1]);
  }
};

// The row after the one that is asked for. After the last is none: the first, or the last again.
template <bool kAround>
struct NextRow {
  template <class S>
  S operator()(const Tensor<S>& weight, const Tensor<S>& indices, std::int64_t, bool, bool,
               const Index& i) const {
    const std::int64_t rows = weight.size(0), next = indices.integer_at(i.number() / weight.size(1)) + 1;
    return weight(next < rows ? next : kAround ? 0 : rows - 1, i[i.rank() - 1]);
  }
};

struct NoLongerThanOne {
  template <class S>
  S operator()(const Tensor<S>& weight, const Tensor<S>& indices, std::int64_t, bool, bool,
               const Index& i) const {
    const std::int64_t row = indices.integer_at(i.number() / weight.size(1));
    if constexpr (std::is_same_v<S, Integer>) {
      return weight(row, i[i.rank() - 1]);  // has no root
    } else {
      const S length =
          sqrt(sum<S>(weight.size(1), [&](std::int64_t k) { return weight(row, k) * weight(row, k); }));
      return weight(row, i[i.rank() - 1]) / maximum(length, S(1));
    }
  }
};

const EnrolledReference embedding_reference{reference<ops::embedding, Embedding>()};

const EnrolledWrong embedding_wrong[] = {
    EnrolledWrong{wrong_formula<ops::embedding, PaddingAsZeros>(
        "padding_as_zeros",
        "gives zeros for padding_idx, whatever that row of weight holds: ATen's padding_idx is for gradients")},
    EnrolledWrong{wrong_formula<ops::embedding, NextRow<true>>(
        "next_row", "gives the row after the one that is asked for, and after the last the first")},
    EnrolledWrong{wrong_formula<ops::embedding, NextRow<false>>(
        "next_row_within", "gives the row after the one that is asked for, and the last for itself")},
    EnrolledWrong{
        wrong_formula<ops::embedding, NoLongerThanOne>(
            "no_longer_than_1", "divides rows that are longer than 1 by their length", kFloatingPoint)
            .as_defined_by("torch.nn.Embedding with max_norm=1")}};

}  // namespace
}  // namespace assay
