#include "ops/cumsum.h"

#include <algorithm>

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

// From what is right, whose rounding it keeps.
struct ExclusiveByDifference {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    running_sums<S>(
        out.size(), [&](std::int64_t k) { return self[out.index(k)]; },
        [&](std::int64_t k, const S& s) { out[k] = s - self[out.index(k)]; });
  }
};

// Rows in blocks, as where each has a thread: without the sums of the blocks before, or with that of one of them alone.
template <std::int64_t size, bool carries_one>
struct InBlocks {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    S before = S(0);
    for (std::int64_t first = 0; first < out.size(); first += size) {
      S last = S(0);
      running_sums<S>(
          std::min(size, out.size() - first), [&](std::int64_t k) { return self[out.index(first + k)]; },
          [&](std::int64_t k, const S& s) {
            last = s;
            out[first + k] = carries_one && first > 0 ? before + s : s;
          });
      before = last;
    }
  }
};

// Over the elements of the whole tensor, whatever dim is.
struct OverEverything {
  static RowShape rows(const Inputs&, std::span<const std::int64_t> shape) {
    std::int64_t all = 1;
    for (const std::int64_t n : shape) all *= n;
    return RowShape::blocks(shape, all);
  }

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    running_sums<S>(
        out.size(), [&](std::int64_t k) { return self.at(k); },
        [&](std::int64_t k, const S& s) { out[k] = s; });
  }
};

// Of other operators of this kind.
struct RunningProduct {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = k == 0 ? self[out.index(0)] : out[k - 1] * self[out.index(k)];
  }
};
struct RunningMaximum {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = k == 0 ? self[out.index(0)] : maximum(out[k - 1], self[out.index(k)]);
  }
};

struct ExclusiveFromTheEnd {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const std::int64_t last = out.size() - 1;
    running_sums<S>(
        out.size(), [&](std::int64_t k) { return k == 0 ? S(0) : self[out.index(last - k + 1)]; },
        [&](std::int64_t k, const S& s) { out[last - k] = s; });
  }
};

struct FromTheEnd {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const std::int64_t last = out.size() - 1;
    running_sums<S>(
        out.size(), [&](std::int64_t k) { return self[out.index(last - k)]; },
        [&](std::int64_t k, const S& s) { out[last - k] = s; });
  }
};

const EnrolledReference cumsum_reference{reference<ops::cumsum, Cumsum>()};

template <std::int64_t size>
WrongFormula begins_anew(std::string_view name, std::string_view says) {
  return wrong_formula<ops::cumsum, InBlocks<size, false>>(name, says);
}
template <std::int64_t size>
WrongFormula carries_one(std::string_view name, std::string_view says) {
  return wrong_formula<ops::cumsum, InBlocks<size, true>>(name, says);
}

const EnrolledWrong cumsum_wrong[] = {
    EnrolledWrong{wrong_formula<ops::cumsum, Exclusive>("exclusive", "leaves self[k] out of out[k]")
                      .as_defined_by("ONNX and TensorFlow with exclusive")},
    EnrolledWrong{
        wrong_formula<ops::cumsum, ExclusiveByDifference>(
            "exclusive_by_difference", "takes self[k] from the sum again, so that out[k] is without it")
            .as_defined_by("ONNX and TensorFlow with exclusive")
            .looked_for_only()},
    EnrolledWrong{
        wrong_formula<ops::cumsum, ExclusiveFromTheEnd>(
            "exclusive_from_the_end", "adds from the end of a row, and leaves self[k] out of out[k]")
            .as_defined_by("ONNX and TensorFlow with exclusive and reverse")},
    EnrolledWrong{wrong_formula<ops::cumsum, FromTheEnd>("from_the_end", "adds from the end of a row")
                      .as_defined_by("ONNX and TensorFlow with reverse")},
    EnrolledWrong{wrong_formula<ops::cumsum, OverEverything>(
                      "over_everything", "adds up all elements of the tensor, whatever dim is")
                      .as_defined_by("NumPy's cumsum without an axis")},
    EnrolledWrong{
        wrong_formula<ops::cumsum, RunningProduct>("product", "multiplies the elements, as cumprod does")},
    EnrolledWrong{
        wrong_formula<ops::cumsum, RunningMaximum>("maximum", "gives the largest so far, as cummax does")},
    EnrolledWrong{begins_anew<8>("begins_anew_every_8", "begins anew after every 8 elements")},
    EnrolledWrong{begins_anew<16>("begins_anew_every_16", "begins anew after every 16 elements")},
    EnrolledWrong{begins_anew<32>("begins_anew_every_32", "begins anew after every 32 elements")},
    EnrolledWrong{
        begins_anew<64>("begins_anew_every_64", "begins anew after every 64 elements").looked_for_only()},
    EnrolledWrong{
        begins_anew<128>("begins_anew_every_128", "begins anew after every 128 elements").looked_for_only()},
    EnrolledWrong{
        begins_anew<256>("begins_anew_every_256", "begins anew after every 256 elements").looked_for_only()},
    EnrolledWrong{
        begins_anew<512>("begins_anew_every_512", "begins anew after every 512 elements").looked_for_only()},
    EnrolledWrong{begins_anew<1024>("begins_anew_every_1024", "begins anew after every 1024 elements")
                      .looked_for_only()},
    EnrolledWrong{carries_one<16>("carries_one_block_of_16",
                                  "adds the sum of the block of 16 before, and not of all before it")},
    EnrolledWrong{carries_one<32>("carries_one_block_of_32",
                                  "adds the sum of the block of 32 before, and not of all before it")},
    EnrolledWrong{carries_one<64>("carries_one_block_of_64",
                                  "adds the sum of the block of 64 before, and not of all before it")
                      .looked_for_only()},
    EnrolledWrong{carries_one<128>("carries_one_block_of_128",
                                   "adds the sum of the block of 128 before, and not of all before it")
                      .looked_for_only()},
    EnrolledWrong{carries_one<256>("carries_one_block_of_256",
                                   "adds the sum of the block of 256 before, and not of all before it")
                      .looked_for_only()},
    EnrolledWrong{carries_one<1024>("carries_one_block_of_1024",
                                    "adds the sum of the block of 1024 before, and not of all before it")
                      .looked_for_only()}};

}  // namespace
}  // namespace assay
