// What else stands in for cuDNN: pooling, softmax, activations and the normalisation of channels, by their
// formulas.
#include <limits>

#include "cudnn_descriptors.h"
#include "elementary.h"

namespace {

bool alike(const cudnnTensorStruct& x, const cudnnTensorStruct& y) {
  return x.sizes == y.sizes && x.format == y.format;
}

template <class T>
T activated(const cudnnActivationStruct& how, T x) {
  const standin::Wide<T> wide = x;
  switch (how.mode) {
    case CUDNN_ACTIVATION_RELU:
      return x < 0 ? 0 : x;
    case CUDNN_ACTIVATION_SIGMOID:
      return static_cast<T>(1 / (1 + standin::wide_exp(-wide)));
    case CUDNN_ACTIVATION_TANH:
      return static_cast<T>(standin::wide_tanh(wide));
    default:  // ELU
      return x > 0 ? x : static_cast<T>(static_cast<T>(how.coefficient) * standin::wide_expm1(wide));
  }
}

template <class T>
T pooled(const cudnnPoolingStruct& how, const cudnnTensorStruct& x, const void* data,
         const std::vector<int>& o) {
  const bool maximum = how.mode == CUDNN_POOLING_MAX;
  T most = -std::numeric_limits<T>::infinity(), sum = 0;
  int count = 0;
  standin::each_index(how.window, [&](const std::vector<int>& tap) {
    std::vector<int> from{o[0], o[1]};
    for (std::size_t d = 0; d < tap.size(); ++d) {
      const int i = o[d + 2] * how.stride[d] - how.padding[d] + tap[d];
      if (i < 0 || i >= x.sizes[d + 2]) return;
      from.push_back(i);
    }
    const T value = static_cast<T>(standin::load(data, x.format, x.at(from)));
    if (value > most || std::isnan(value)) most = value;
    sum += value;
    ++count;
  });
  if (maximum) return most;
  if (how.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) {
    count = 1;
    for (const int n : how.window) count *= n;
  }
  return sum / static_cast<T>(count);
}

// Gives each result of the row of channels that begins at index i. W is the format that it is computed in.
template <class W, class Give>
void softmax_row(bool logarithm, const cudnnTensorStruct& x, const void* data, std::vector<int> i,
                 Give give) {
  const auto number = [&](int channel) -> W {
    i[1] = channel;
    return standin::load(data, x.format, x.at(i));
  };
  W most = number(0), sum = 0;
  for (int c = 1; c < x.sizes[1]; ++c) {
    const W n = number(c);
    if (n > most || n != n) most = n;
  }
  for (int c = 0; c < x.sizes[1]; ++c) sum += standin::wide_exp(number(c) - most);
  for (int c = 0; c < x.sizes[1]; ++c) {
    const W less = number(c) - most;
    give(i, logarithm ? less - standin::wide_log(sum) : standin::wide_exp(less) / sum);
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, const cudnnPoolingDescriptor_t how, const void* alpha,
                                  const cudnnTensorDescriptor_t x, const void* x_data, const void* beta,
                                  const cudnnTensorDescriptor_t y, void* y_data) {
  if (x->rank() != static_cast<int>(how->window.size()) + 2 || y->rank() != x->rank() ||
      x->format != y->format)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (x->sizes[0] != y->sizes[0] || x->sizes[1] != y->sizes[1]) return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t d = 0; d < how->window.size(); ++d) {
    const int last = (y->sizes[d + 2] - 1) * how->stride[d], room = x->sizes[d + 2] + 2 * how->padding[d];
    if (last + how->window[d] > room || last + how->stride[d] + how->window[d] <= room)
      return CUDNN_STATUS_BAD_PARAM;
  }
  const standin::Blend blend(alpha, beta, x->format);
  standin::enqueue([=, how = *how, x = *x, y = *y] {
    standin::in_compute_format(x.format, [&](auto zero) {
      using T = decltype(zero);
      standin::each_index(y.sizes, [&](const std::vector<int>& o) {
        blend(pooled<T>(how, x, x_data, o), y, y_data, y.at(o));
      });
    });
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                  const void* alpha, const cudnnTensorDescriptor_t x, const void* x_data,
                                  const void* beta, const cudnnTensorDescriptor_t y, void* y_data) {
  if (mode != CUDNN_SOFTMAX_MODE_CHANNEL || algorithm == CUDNN_SOFTMAX_FAST)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!alike(*x, *y)) return CUDNN_STATUS_BAD_PARAM;
  const standin::Blend blend(alpha, beta, x->format);
  standin::enqueue([=, x = *x, y = *y] {
    std::vector<int> rows = x.sizes;
    rows[1] = 1;
    standin::in_compute_format(x.format, [&](auto zero) {
      using T = decltype(zero);
      using W = standin::Wide<T>;
      standin::each_index(rows, [&](const std::vector<int>& i) {
        softmax_row<W>(algorithm == CUDNN_SOFTMAX_LOG, x, x_data, i,
                       [&](const std::vector<int>& at, W result) {
                         blend(static_cast<T>(result), y, y_data, y.at(at));
                       });
      });
    });
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t, cudnnActivationDescriptor_t how, const void* alpha,
                                     const cudnnTensorDescriptor_t x, const void* x_data, const void* beta,
                                     const cudnnTensorDescriptor_t y, void* y_data) {
  if (how->mode != CUDNN_ACTIVATION_RELU && how->mode != CUDNN_ACTIVATION_SIGMOID &&
      how->mode != CUDNN_ACTIVATION_TANH && how->mode != CUDNN_ACTIVATION_ELU)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!alike(*x, *y) || (x_data == y_data && x->strides != y->strides)) return CUDNN_STATUS_BAD_PARAM;
  const standin::Blend blend(alpha, beta, x->format);
  standin::enqueue([=, how = *how, x = *x, y = *y] {
    standin::in_compute_format(x.format, [&](auto zero) {
      using T = decltype(zero);
      standin::each_index(y.sizes, [&](const std::vector<int>& i) {
        const T value = static_cast<T>(standin::load(x_data, x.format, x.at(i)));
        blend(activated(how, value), y, y_data, y.at(i));
      });
    });
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t, cudnnBatchNormMode_t mode,
                                                      const void* alpha, const void* beta,
                                                      const cudnnTensorDescriptor_t x, const void* x_data,
                                                      const cudnnTensorDescriptor_t y, void* y_data,
                                                      const cudnnTensorDescriptor_t each, const void* scale,
                                                      const void* shift, const void* mean,
                                                      const void* variance, double epsilon) {
  if (mode != CUDNN_BATCHNORM_SPATIAL) return CUDNN_STATUS_NOT_SUPPORTED;
  std::vector<int> one_each(x->sizes.size(), 1);
  one_each[1] = x->sizes[1];
  const standin::Format parameters = x->format == standin::Format::f64 ? x->format : standin::Format::f32;
  if (!alike(*x, *y) || each->sizes != one_each || each->format != parameters ||
      epsilon < CUDNN_BN_MIN_EPSILON)
    return CUDNN_STATUS_BAD_PARAM;
  const standin::Blend blend(alpha, beta, x->format);
  standin::enqueue([=, x = *x, y = *y, each = *each] {
    standin::in_compute_format(x.format, [&](auto zero) {
      using T = decltype(zero);
      standin::each_index(y.sizes, [&](const std::vector<int>& i) {
        std::vector<int> channel(i.size());
        channel[1] = i[1];
        const auto of = [&](const void* data) {
          return static_cast<T>(standin::load(data, each.format, each.at(channel)));
        };
        const T rstd = 1 / std::sqrt(of(variance) + static_cast<T>(epsilon));
        const T value = static_cast<T>(standin::load(x_data, x.format, x.at(i)));
        blend((value - of(mean)) * rstd * of(scale) + of(shift), y, y_data, y.at(i));
      });
    });
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
