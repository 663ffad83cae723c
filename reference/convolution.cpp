#include "ops/convolution.h"

#include <algorithm>
#include <vector>

#include "products.h"
#include "reference_of.h"
#include "signed.h"
#include "windows.h"

namespace assay {
namespace {

// Which taps of the window meet an element of the image, and which meet the zeros around it: the same for all channels.
struct Taps {
  std::vector<Factors> within;  // the element of the image, and the tap
  std::vector<std::int64_t> outside;
};

// Where element i lies in its image.
std::int64_t position(const Index& i) {
  std::int64_t n = 0;
  for (int d = 2; d < i.rank(); ++d) n = n * i.shape()[static_cast<std::size_t>(d)] + i[d];
  return n;
}

struct Convolution {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> /*output_padding*/, std::int64_t groups, const Index& i) const {
    const Window window{stride, padding, dilation};
    const std::int64_t image = inner(input, 2), taps = inner(weight, 2);
    const std::int64_t channels = input.size(1) / groups;
    const std::int64_t outputs = transposed ? weight.size(1) : weight.size(0) / groups;
    const std::int64_t group = i[1] / outputs;
    // Where the element of the input, or of the weight, stands for channel c of the group.
    const auto element = [&](std::int64_t c) {
      return (i[0] * input.size(1) + group * channels + c) * image;
    };
    const auto factor = [&](std::int64_t c) {
      return (transposed ? (group * channels + c) * outputs + i[1] % outputs : i[1] * channels + c) * taps;
    };

    const Taps& met = once<S>(position(i), [&] {
      Taps found;
      for (std::int64_t r = 0; r < taps; ++r) {
        const std::int64_t at = transposed ? window.source(i, r, weight.shape(), input.shape())
                                           : window.target(i, r, weight.shape(), input.shape());
        if (at >= 0)
          found.within.push_back({at, r});
        else
          found.outside.push_back(r);
      }
      return found;
    });
    bool zero_times_infinity = false;
    for (const std::int64_t r : met.outside)
      for (std::int64_t c = 0; c < channels; ++c)
        zero_times_infinity = zero_times_infinity || !weight.is_finite(factor(c) + r);

    const S last = bias == nullptr ? S(0) : (*bias)(i[1]);
    const std::size_t n = met.within.size();
    std::int64_t c = 0, of_input = element(0), of_weight = factor(0);
    std::size_t t = 0;
    const auto next = [&](std::int64_t) {
      if (t == n) {
        t = 0;
        ++c;
        of_input = element(c);
        of_weight = factor(c);
      }
      const Factors& at = met.within[t++];
      return Factors{of_input + at.a, of_weight + at.b};
    };
    const S result = sum_of_products(static_cast<std::int64_t>(n) * channels, input, weight, next,
                                     bias == nullptr ? nullptr : &last);
    // Zeros around the image are there, or are left out: it matters where one meets an infinity or NaN.
    if constexpr (!std::is_same_v<S, Integer>)
      if (zero_times_infinity) return either(result, [&] { return result + S(0) * S(INFINITY); });
    return result;
  }
};

// What was summed over taps and channels forwards is so backwards, with the images' parts exchanged.
struct ConvolutionGradInput {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& /*input*/, const Tensor<S>& weight,
               std::optional<std::span<const std::int64_t>> /*bias_sizes*/,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> output_padding, std::int64_t groups,
               std::span<const std::int64_t> /*output_mask*/, const Index& i) const {
    const Tensor<S>* const no_bias = nullptr;
    return Convolution{}(grad, weight, no_bias, stride, padding, dilation, !transposed, output_padding,
                         groups, i);
  }
};

// weight[a, b, r] joins channel a of the image with the positions, and channel b of a's group in the one looked at.
struct ConvolutionGradWeight {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& input, const Tensor<S>& weight,
               std::optional<std::span<const std::int64_t>> /*bias_sizes*/,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> /*output_padding*/, std::int64_t groups,
               std::span<const std::int64_t> /*output_mask*/, const Index& w) const {
    const Window window{stride, padding, dilation};
    const Tensor<S>& from = transposed ? input : grad;
    const Tensor<S>& image = transposed ? grad : input;
    const std::int64_t group = w[0] / (weight.size(0) / groups), b = group * weight.size(1) + w[1];
    const std::int64_t positions = inner(from, 2), size = inner(image, 2);

    // Positions whose tap lies within the image, and its element there.
    std::vector<std::int64_t> position, at;
    bool zero_times_infinity = false;
    Index o(from.shape(), 0);
    for (std::int64_t p = 0; p < positions; ++p, o.step()) {
      const std::int64_t target = window.target(o, tap(weight, w), weight.shape(), image.shape());
      if (target >= 0) {
        position.push_back(p);
        at.push_back(target);
      } else {
        for (std::int64_t n = 0; n < from.size(0); ++n)
          zero_times_infinity =
              zero_times_infinity || !from.is_finite((n * from.size(1) + w[0]) * positions + p);
      }
    }
    const auto count = static_cast<std::int64_t>(position.size());
    const S result = sum_of_products(from.size(0) * count, from, image, [&](std::int64_t k) {
      const std::int64_t n = k / count;
      const auto p = static_cast<std::size_t>(k % count);
      return Factors{(n * from.size(1) + w[0]) * positions + position[p],
                     (n * image.size(1) + b) * size + at[p]};
    });
    return zero_times_infinity ? either(result, [&] { return result + S(0) * S(INFINITY); }) : result;
  }

 private:
  template <class S>
  static std::int64_t tap(const Tensor<S>& weight, const Index& w) {
    std::int64_t r = 0;
    for (int d = 2; d < weight.rank(); ++d) r = r * weight.size(d) + w[d];
    return r;
  }
};

struct ConvolutionGradBias {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& /*input*/, const Tensor<S>& /*weight*/,
               std::optional<std::span<const std::int64_t>> /*bias_sizes*/,
               std::span<const std::int64_t> /*stride*/, std::span<const std::int64_t> /*padding*/,
               std::span<const std::int64_t> /*dilation*/, bool /*transposed*/,
               std::span<const std::int64_t> /*output_padding*/, std::int64_t /*groups*/,
               std::span<const std::int64_t> /*output_mask*/, const Index& c) const {
    const std::int64_t size = inner(grad, 2);
    return sum<S>(grad.size(0) * size, [&](std::int64_t k) {
      return grad.at((k / size * grad.size(1) + c[0]) * size + k % size);
    });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

// What is around the image, in place of zeros. A position along a dimension becomes one inside, or stays outside.
struct Reflected {
  static std::int64_t into(std::int64_t at, std::int64_t size) {
    return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
  }
};
struct Repeated {
  static std::int64_t into(std::int64_t at, std::int64_t size) {
    return std::clamp<std::int64_t>(at, 0, size - 1);
  }
};
struct Periodic {
  static std::int64_t into(std::int64_t at, std::int64_t size) { return (at % size + size) % size; }
};
struct Zeros {
  static std::int64_t into(std::int64_t at, std::int64_t) { return at; }
};

enum class OfGroups : std::uint8_t {
  own,
  input_of_the_first,
  weight_of_the_first,
  input_in_turn,
  output_in_turn
};

template <class Around, bool flipped = false, OfGroups of = OfGroups::own>
struct WrongConvolution {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> output_padding, std::int64_t groups, const Index& i) const {
    if (transposed)
      return Convolution{}(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
                           i);
    const Window window{stride, padding, dilation};
    const std::int64_t image = inner(input, 2), taps = inner(weight, 2), channels = input.size(1) / groups;
    const std::int64_t outputs = weight.size(0) / groups,
                       group = of == OfGroups::output_in_turn ? i[1] % groups : i[1] / outputs;
    const std::int64_t row = of == OfGroups::weight_of_the_first ? i[1] % outputs : i[1];
    // The channel of the input that stands for channel c of the group.
    const auto channel = [&](std::int64_t c) {
      if (of == OfGroups::input_of_the_first) return c;
      return of == OfGroups::input_in_turn ? c * groups + group : group * channels + c;
    };
    const S total = sum<S>(taps * channels, [&](std::int64_t k) {
      const std::int64_t r = k % taps, c = k / taps;
      const std::int64_t at = window.target_by(Around::into, i, r, weight.shape(), input.shape());
      if (at < 0) return S(0);
      const std::int64_t tap = flipped ? taps - 1 - r : r;
      return input.at((i[0] * input.size(1) + channel(c)) * image + at) *
             weight.at((row * channels + c) * taps + tap);
    });
    return bias == nullptr ? total : total + (*bias)(i[1]);
  }
};

// Where the elements of the input are spread over the result.
enum class Spread : std::uint8_t { overwritten, flipped, padded_in_front };

template <Spread wrong>
struct WrongTransposedConvolution {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> output_padding, std::int64_t groups, const Index& i) const {
    if (!transposed)
      return Convolution{}(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
                           i);
    std::vector<std::int64_t> before(static_cast<std::size_t>(i.rank()) - 2);
    for (std::size_t d = 0; d < before.size(); ++d)
      before[d] = padding[padding.size() == 1 ? 0 : d] -
                  (wrong == Spread::padded_in_front ? output_padding[output_padding.size() == 1 ? 0 : d] : 0);
    const Window window{stride, before, dilation};
    const std::int64_t image = inner(input, 2), taps = inner(weight, 2), channels = input.size(1) / groups;
    const std::int64_t outputs = weight.size(1), group = i[1] / outputs;
    std::vector<Factors> met;  // the element of the input, and the tap that spreads it here
    for (std::int64_t r = 0; r < taps; ++r)
      if (const std::int64_t at = window.source(i, r, weight.shape(), input.shape()); at >= 0)
        met.push_back({at, wrong == Spread::flipped ? taps - 1 - r : r});
    // Whoever comes last stays.
    if (wrong == Spread::overwritten && !met.empty()) met = {*std::ranges::max_element(met, {}, &Factors::a)};
    const auto n = static_cast<std::int64_t>(met.size());
    const S total = sum<S>(n * channels, [&](std::int64_t k) {
      const std::int64_t c = group * channels + k / n;
      const Factors& at = met[static_cast<std::size_t>(k % n)];
      return input.at((i[0] * input.size(1) + c) * image + at.a) *
             weight.at((c * outputs + i[1] % outputs) * taps + at.b);
    });
    return bias == nullptr ? total : total + (*bias)(i[1]);
  }
};

struct ConvolutionReluBeforeBias {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> output_padding, std::int64_t groups, const Index& i) const {
    const auto* none = static_cast<const Tensor<S>*>(nullptr);
    const S product = maximum(
        Convolution{}(input, weight, none, stride, padding, dilation, transposed, output_padding, groups, i),
        S(0));
    return bias == nullptr ? product : product + (*bias)(i[1]);
  }
};

const EnrolledReference convolution_reference[] = {
    EnrolledReference{reference<ops::convolution, Convolution>()},
    EnrolledReference{reference<ops::convolution_backward, ConvolutionGradInput, ConvolutionGradWeight,
                                ConvolutionGradBias>()}};

const EnrolledWrong convolution_wrong[] = {
    EnrolledWrong{wrong_formula<ops::convolution, WrongConvolution<Zeros, true>>(
                      "flipped", "turns the window round, as mathematicians do")
                      .as_defined_by("SciPy's convolve")},
    EnrolledWrong{wrong_formula<ops::convolution, ConvolutionReluBeforeBias>(
        "relu_before_bias", "takes negative sums as 0 before it adds bias", kSigned)},
    EnrolledWrong{
        wrong_formula<ops::convolution, WrongConvolution<Zeros, false, OfGroups::input_of_the_first>>(
            "input_of_the_first_group", "reads the input channels of the first group for every group")},
    EnrolledWrong{
        wrong_formula<ops::convolution, WrongConvolution<Zeros, false, OfGroups::weight_of_the_first>>(
            "weight_of_the_first_group", "reads the weight of the first group for every group")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongConvolution<Zeros, false, OfGroups::input_in_turn>>(
        "channels_in_turn", "takes input channel c into group c % groups")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongConvolution<Zeros, false, OfGroups::output_in_turn>>(
        "outputs_in_turn", "takes output channel o into group o % groups")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongConvolution<Reflected>>(
        "padded_by_reflection", "pads with the image reflected at its border, instead of zeros")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongConvolution<Repeated>>(
        "padded_by_the_edge", "pads with the elements at the image's border, instead of zeros")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongConvolution<Periodic>>(
        "padded_by_wrapping", "pads with the image's other side, as if it were periodic, instead of zeros")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongTransposedConvolution<Spread::overwritten>>(
        "overlaps_overwritten",
        "transposed, stores where it had to add: of windows that overlap the last one stays")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongTransposedConvolution<Spread::flipped>>(
        "transposed_flipped", "turns the window round where it is transposed")},
    EnrolledWrong{wrong_formula<ops::convolution, WrongTransposedConvolution<Spread::padded_in_front>>(
        "output_padding_in_front", "puts what output_padding adds before the image, and not after it")}};

}  // namespace
}  // namespace assay
