// Normalisation of channels, by their own statistics or by statistics that are given.
//
// The idea: a channel's elements lie all over the tensor, and there may be few channels, so that statistics are a reduction of
// their own (reduce.h), which blocks share, the means first and then the squared distances from them. They go to scratch memory, two numbers a channel; what follows is
// element-wise.
#include "ops/batch_norm.h"

#include "contracts.h"
#include "elementary.h"
#include "geometry/channel.h"
#include "reduce.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// One number for each channel, or nothing.
template <class T>
struct PerChannel {
  T* data;
  std::int64_t step;

  explicit PerChannel(const View* view)
      : data(view == nullptr ? nullptr : view->as<T>()),
        step(view == nullptr || view->rank() == 0 ? 0 : view->stride(0)) {}
  __device__ bool given() const { return data != nullptr; }
  __device__ T& operator[](std::int64_t channel) const { return data[channel * step]; }
};

template <class T>
struct BatchStatistics {
  PerChannel<T> mean, rstd;  // results
  PerChannel<T> last_mean, last_var, next_mean, next_var;
  Compute<T> keep, take, eps;  // of running statistics: 1 - momentum and momentum
  Compute<T>* numbers;         // of each channel the mean and rstd
};

template <class T>
struct BatchMean : Addition {
  using State = Compute<T>;
  BatchStatistics<T> to;

  explicit BatchMean(const BatchStatistics<T>& results) : to(results) {}
  __device__ void add(State& s, std::int64_t, State x) const { s += x; }
  __device__ void store(std::int64_t c, std::int64_t, State s, std::int64_t n) const {
    to.numbers[2 * c] = s / static_cast<State>(n);
  }
};

// Squared distances from the centre, which is the channel's mean.
template <class C>
struct Squares {
  C centre, sum;
  __device__ Squares shuffled(int with) const { return {centre, __shfl_xor_sync(kAllLanes, sum, with)}; }
};

template <class T>
struct BatchSquares {
  using C = Compute<T>;
  using State = Squares<C>;
  BatchStatistics<T> to;

  template <class S>
  __device__ S identity() const {
    return {0, 0};
  }
  __device__ State start(std::int64_t c) const { return {to.numbers[2 * c], 0}; }
  __device__ State combine(const State& a, const State& b) const { return {a.centre, a.sum + b.sum}; }
  __device__ void add(State& s, std::int64_t, C x) const { s.sum += (x - s.centre) * (x - s.centre); }
  __device__ void store(std::int64_t c, std::int64_t, const State& s, std::int64_t n) const {
    const C mean = to.numbers[2 * c], rstd = C(1) / sqrt_of(s.sum / static_cast<C>(n) + to.eps);
    to.numbers[2 * c + 1] = rstd;
    to.mean[c] = narrowed<T>(mean);
    to.rstd[c] = narrowed<T>(rstd);
    if (!to.next_mean.given()) return;
    to.next_mean[c] = narrowed<T>(to.keep * widened(to.last_mean[c]) + to.take * mean);
    to.next_var[c] =
        narrowed<T>(to.keep * widened(to.last_var[c]) + to.take * (s.sum / static_cast<C>(n - 1)));
  }
};

// Statistics that are given.
// Budget: 52 registers, 1.00 sectors.
template <class T>
__global__ void batch_norm_given_kernel(BatchStatistics<T> to, std::int64_t channels) {
  for (std::int64_t c = global_thread(); c < channels; c += global_threads()) {
    to.numbers[2 * c] = widened(to.last_mean[c]);
    to.numbers[2 * c + 1] = Compute<T>(1) / sqrt_of(widened(to.last_var[c]) + to.eps);
    if (!to.next_mean.given()) continue;
    to.next_mean[c] = to.last_mean[c];
    to.next_var[c] = to.last_var[c];
  }
}

// Operand 2 of the space is the channel's number. A thread takes `width` neighbours: a vector, or one.
// Budget: 38 registers, 1.00 sectors.
template <class T, int width>
__global__ void batch_norm_kernel(T* out, const T* input, const Compute<T>* numbers,
                                  PerChannel<const T> weight, PerChannel<const T> bias, Space<3> space) {
  using C = Compute<T>;
  const std::int64_t channel_step = space.rank == 0 ? 0 : space.stride[2][0] / width;
  for (std::int64_t i = global_thread(); i < space.count; i += global_threads()) {
    std::int64_t offset[3];
    space.locate(i, offset);
    const Vector<T, width> x = load_vector<T, width>(input + offset[1]);
    Vector<T, width> y;
    ASSAY_UNROLL
    for (int e = 0; e < width; ++e) {
      const std::int64_t c = offset[2] + e * channel_step;
      C value = (widened(x.element[e]) - numbers[2 * c]) * numbers[2 * c + 1];
      if (weight.given()) value = value * widened(weight[c]);
      if (bias.given()) value = value + widened(bias[c]);
      y.element[e] = narrowed<T>(value);
    }
    store_vector(out + offset[0], y);
  }
}

// All dimensions but that of channels.
struct ButChannels {
  bool contains(int dimension) const { return dimension != 1; }
};

template <class T>
void batch_norm_as(const View& input, const View* weight, const View* bias, bool training,
                   BatchStatistics<T> to, const View& mean, const View& out) {
  constexpr int width = Vector<T>::size;
  const std::int64_t channels = input.size(1);
  const Scratch<Compute<T>> numbers(2 * channels);
  to.numbers = numbers.data();
  if (training) {
    const View* const in[] = {&input};
    const ReducePlan plan(mean, in, 1, ButChannels(), false);
    reduce<T>(BatchMean<T>(to), plan, input);
    reduce<T>(BatchSquares<T>{to}, plan, input);
  } else if (channels > 0) {
    launch<batch_norm_given_kernel<T>>(blocks_for(channels, 128), 128, 0, to, channels);
  }
  if (input.numel() == 0) return;
  std::int64_t size = channels, step = 1;
  View numbered = input;
  numbered.ndim = 1;
  numbered.shape = &size;
  numbered.strides = &step;
  const cpu::ChannelView channel(numbered, input.rank());
  const View* const views[] = {&out, &input, &channel.view()};
  const cpu::Space space = cpu::make_space(views, 3);
  const bool whole = steps_in_vectors(space, 0, 2, width, true) && space.stride[2][0] <= 1 &&
                     reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0 &&
                     reinterpret_cast<std::uintptr_t>(input.data) % 16 == 0;
  const auto go = [&](auto kernel_width) {
    constexpr int taken = decltype(kernel_width)::value;
    const Space<3> places(space, taken);
    launch<batch_norm_kernel<T, taken>>(blocks_for(places.count, 256), 256, 0, out.as<T>(), input.as<T>(),
                                        to.numbers, PerChannel<const T>(weight), PerChannel<const T>(bias),
                                        places);
  };
  if (whole)
    go(std::integral_constant<int, width>());
  else
    go(std::integral_constant<int, 1>());
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void batch_norm(const View& input, const View* weight, const View* bias, const View* last_mean,
                const View* last_var, bool training, double momentum, double eps, View& out, View& mean,
                View& rstd, View* next_mean, View* next_var) {
  with_floating_point(input.type(), [&](auto element) {
    using T = decltype(element);
    using C = Compute<T>;
    batch_norm_as<T>(input, weight, bias, training,
                     {PerChannel<T>(&mean), PerChannel<T>(&rstd), PerChannel<T>(last_mean),
                      PerChannel<T>(last_var), PerChannel<T>(next_mean), PerChannel<T>(next_var),
                      static_cast<C>(1 - momentum), static_cast<C>(momentum), static_cast<C>(eps), nullptr},
                     mean, out);
  });
}

void native_batch_norm(const View& input, const View* weight, const View* bias, const View* running_mean,
                       const View* running_var, bool training, double momentum, double eps, View& out,
                       View& mean, View& rstd) {
  batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, out, mean, rstd,
             nullptr, nullptr);
}

void functional(const View& input, const View* weight, const View* bias, const View& running_mean,
                const View& running_var, bool training, double momentum, double eps, View& out, View& mean,
                View& rstd, View& running_mean_out, View& running_var_out) {
  batch_norm(input, weight, bias, &running_mean, &running_var, training, momentum, eps, out, mean, rstd,
             &running_mean_out, &running_var_out);
}

constexpr const char* kBatchNormContract = ASSAY_CUDA_SUM "\n" ASSAY_CUDA_BY_LAYOUT;
constexpr assay_kernel batch_norm_kernels[] = {
    ASSAY_CUDA(ops::native_batch_norm, native_batch_norm, kBatchNormContract),
    ASSAY_CUDA(ops::native_batch_norm_legit_functional, functional, kBatchNormContract)};
const Enrolled batch_norm_enrolled{batch_norm_kernels};

}  // namespace
}  // namespace assay::cuda
