#include "ops/group_norm.h"

#include <algorithm>

#include "norm.h"
#include "reference_of.h"
#include "wrong_statistics.h"

namespace assay {
namespace {

// Elements of one group, which are neighbours.
std::int64_t of_group(std::int64_t C, std::int64_t HxW, std::int64_t group) { return C / group * HxW; }

template <class S>
Statistics<S> group_statistics(const Tensor<S>& input, std::int64_t row, std::int64_t n, double eps) {
  return once<S>(row, [&] { return Statistics<S>::of(n, eps, input, row * n); });
}

struct GroupNorm {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t /*N*/,
               std::int64_t C, std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group), at = i.number();
    return group_statistics(input, at / n, n, eps).normal(input.at(at), weight, bias, at / HxW % C);
  }
};

struct GroupNormMean {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, std::int64_t, std::int64_t C,
               std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    return group_statistics(input, i.number(), of_group(C, HxW, group), eps).mean;
  }
};

struct GroupNormRstd {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, std::int64_t, std::int64_t C,
               std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    return group_statistics(input, i.number(), of_group(C, HxW, group), eps).rstd;
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct WeightWithinTheGroup {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t,
               std::int64_t C, std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group), at = i.number();
    return group_statistics(input, at / n, n, eps).normal(input.at(at), weight, bias, at % n / HxW);
  }
};

// What a result's mean and variance are taken of, wrongly: of `size` elements, which share `number`.
struct Grouped {
  std::int64_t C, HxW, group, at;

  std::int64_t channel() const { return at / HxW % C; }
  std::int64_t image() const { return at / (C * HxW); }
  std::int64_t of_each() const { return C / group; }
};
// Channel c is in group c % group.
struct Interleaved : Grouped {
  std::int64_t number() const { return image() * group + channel() % group; }
  std::int64_t size() const { return of_each() * HxW; }
  std::int64_t element(std::int64_t k) const {
    return (image() * C + channel() % group + k / HxW * group) * HxW + k % HxW;
  }
};
// Each place of an image by itself.
struct EachPlace : Grouped {
  std::int64_t number() const { return (image() * group + channel() / of_each()) * HxW + at % HxW; }
  std::int64_t size() const { return of_each(); }
  std::int64_t element(std::int64_t k) const {
    return (image() * C + channel() / of_each() * of_each() + k) * HxW + at % HxW;
  }
};
// Every channel by itself, whatever `group` is.
struct EachChannel : Grouped {
  std::int64_t number() const { return at / HxW; }
  std::int64_t size() const { return HxW; }
  std::int64_t element(std::int64_t k) const { return at / HxW * HxW + k; }
};
// All channels together.
struct AllChannels : Grouped {
  std::int64_t number() const { return image(); }
  std::int64_t size() const { return C * HxW; }
  std::int64_t element(std::int64_t k) const { return image() * C * HxW + k; }
};
// `group` channels in each.
struct SizesOfGroups : Grouped {
  std::int64_t number() const { return at / size(); }
  std::int64_t size() const { return group * HxW; }
  std::int64_t element(std::int64_t k) const { return at / size() * size() + k; }
};

// The group before, of the image before at its beginning; or the image's first.
struct GroupBefore : Grouped {
  std::int64_t number() const { return std::max<std::int64_t>(at / size() - 1, 0); }
  std::int64_t size() const { return of_each() * HxW; }
  std::int64_t element(std::int64_t k) const { return number() * size() + k; }
};
struct FirstGroup : Grouped {
  std::int64_t number() const { return image() * group; }
  std::int64_t size() const { return of_each() * HxW; }
  std::int64_t element(std::int64_t k) const { return number() * size() + k; }
};

template <class Together>
struct GroupedBy {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t,
               std::int64_t C, std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const Together t{{C, HxW, group, i.number()}};
    const Statistics<S>& s = once<S>(t.number(), [&] {
      return Statistics<S>::of(moments(t.size(), input, [&](std::int64_t k) { return t.element(k); }),
                               t.size(), eps);
    });
    return s.normal(input.at(i.number()), weight, bias, t.channel());
  }
};

template <class Wrong>
struct GroupNormWith {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t,
               std::int64_t C, std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group), at = i.number();
    const Statistics<S>& s =
        once<S>(at / n, [&] { return Wrong::template of<S>(moments(n, input, at / n * n), n, eps); });
    return s.normal(input.at(at), weight, bias, at / HxW % C);
  }
};

template <class Wrong>
struct GroupNormRstdWith {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, std::int64_t, std::int64_t C,
               std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group);
    return Wrong::template of<S>(moments(n, input, i.number() * n), n, eps).rstd;
  }
};
template <class Saved>
struct GroupSaves {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, std::int64_t, std::int64_t C,
               std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group);
    return Saved::template of<S>(moments(n, input, i.number() * n), n, eps);
  }
};

const EnrolledReference group_norm_reference{
    reference<ops::native_group_norm, GroupNorm, GroupNormMean, GroupNormRstd>()};

template <class Wrong>
WrongFormula wrong_group_norm(std::string_view name, std::string_view says) {
  return wrong_formula<ops::native_group_norm, Wrong, GroupNormMean, GroupNormRstd>(name, says);
}

// With the same mistake in the result and in what is saved.
template <class Wrong>
WrongFormula group_norm_with() {
  return wrong_formula<ops::native_group_norm, GroupNormWith<Wrong>, GroupNormMean, GroupNormRstdWith<Wrong>>(
      Wrong::name, Wrong::says);
}
template <class Saved>
WrongFormula group_norm_that_saves() {
  return wrong_formula<ops::native_group_norm, GroupNorm, GroupNormMean, GroupSaves<Saved>>(Saved::name,
                                                                                            Saved::says);
}

const EnrolledWrong group_norm_wrong[] = {
    EnrolledWrong{wrong_group_norm<GroupedBy<Interleaved>>("channels_interleaved",
                                                           "takes channel c into group c % group")},
    EnrolledWrong{wrong_group_norm<GroupedBy<EachPlace>>(
        "each_place", "takes mean and variance of a group's channels at each place by itself")},
    EnrolledWrong{wrong_group_norm<GroupedBy<EachChannel>>(
                      "each_channel", "takes mean and variance of each channel by itself")
                      .as_defined_by("instance normalisation")},
    EnrolledWrong{wrong_group_norm<GroupedBy<AllChannels>>("all_channels",
                                                           "takes mean and variance of all channels together")
                      .as_defined_by("layer normalisation of an image")},
    EnrolledWrong{wrong_group_norm<GroupedBy<GroupBefore>>("statistics_of_the_group_before",
                                                           "takes mean and variance of the group before")},
    EnrolledWrong{wrong_group_norm<GroupedBy<FirstGroup>>(
        "statistics_of_the_first_group", "takes mean and variance of an image's first group for all")},
    EnrolledWrong{wrong_group_norm<GroupedBy<SizesOfGroups>>(
        "group_as_size", "takes group for the number of channels in each group")},
    EnrolledWrong{group_norm_that_saves<DeviationForRstd>()},
    EnrolledWrong{group_norm_that_saves<VarianceForRstd>()},
    EnrolledWrong{group_norm_that_saves<RstdWithoutEpsilon>()},
    EnrolledWrong{group_norm_with<VarianceOrEpsilon>()},
    EnrolledWrong{group_norm_with<EpsilonBesideTheRoot>()},
    EnrolledWrong{group_norm_with<UnbiasedVariance>().as_defined_by(UnbiasedVariance::definition)},
    EnrolledWrong{wrong_formula<ops::native_group_norm, WeightWithinTheGroup, GroupNormMean, GroupNormRstd>(
        "weight_within_the_group", "counts weight and bias from the first channel of the group")}};

}  // namespace
}  // namespace assay
