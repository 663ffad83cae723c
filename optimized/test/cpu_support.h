// What the tests of our CPU kernels share: tensors between guard pages, and calls of kernels by name.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/effort.h"
#include "vocabulary/kernel.h"
#include "vocabulary/layout.h"

namespace assay::test {

// The side of the tensor that touches an unmapped page.
enum class Guard { behind, before };

// A strided tensor whose memory ends at, or begins after, a page that faults. Gaps between strides hold kGap
// bytes.
class Tensor {
 public:
  static constexpr unsigned char kGap = 0xA5;

  Tensor(Dtype dtype, Shape shape, const Layout& layout = {}, Guard guard = Guard::behind)
      : dtype_(dtype), shape_(std::move(shape)), strided_(strided(shape_, layout)) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = static_cast<std::size_t>(strided_.span * bytes(dtype));
    const std::size_t room = (bytes_ + page - 1) / page * page;
    mapped_ = room + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || (room != 0 && mprotect(base_ + page, room, PROT_READ | PROT_WRITE) != 0))
      throw std::bad_alloc();
    first_ = base_ + page + (guard == Guard::behind ? room - bytes_ : 0);
    if (room != 0) std::memset(base_ + page, kGap, room);
    view_.data = first_;
    view_.device = {ASSAY_CPU, 0};
    view_.ndim = static_cast<int>(shape_.size());
    view_.dtype = info(dtype).dlpack;
    view_.shape = shape_.data();
    view_.strides = strided_.strides.data();
    view_.byte_offset = 0;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { munmap(base_, mapped_); }

  View& view() { return view_; }
  const Shape& shape() const { return shape_; }
  Dtype dtype() const { return dtype_; }
  std::int64_t numel() const { return view_.numel(); }

  // Elements are numbered in row-major order.
  std::byte* element(std::int64_t i) const {
    std::int64_t offset = 0;
    for (std::size_t d = shape_.size(); d-- > 0; i /= shape_[d])
      offset += i % shape_[d] * strided_.strides[d];
    return first_ + offset * bytes(dtype_);
  }
  double get(std::int64_t i) const { return load(element(i), dtype_); }
  void set(std::int64_t i, double value) { store(element(i), dtype_, value); }

  template <class Random>
  Tensor& fill(Random&& value) {
    for (std::int64_t i = 0; i < numel(); ++i) set(i, value());
    return *this;
  }
  Tensor& fill_from(const Tensor& other) {
    for (std::int64_t i = 0; i < numel(); ++i) set(i, other.get(i));
    return *this;
  }

  // The elements' bits in row-major order; every NaN is one NaN, for which of two survives an addition is
  // nobody's promise.
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(numel()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::memcpy(&all[i], element(static_cast<std::int64_t>(i)), static_cast<std::size_t>(bytes(dtype_)));
      if (std::isnan(get(static_cast<std::int64_t>(i)))) all[i] = 0x7FF8'0000'0000'0001;
    }
    return all;
  }

  bool gaps_untouched() const {
    std::vector<bool> used(bytes_);
    for (std::int64_t i = 0; i < numel(); ++i)
      for (int b = 0; b < bytes(dtype_); ++b) used[static_cast<std::size_t>(element(i) - first_ + b)] = true;
    for (std::size_t i = 0; i < bytes_; ++i)
      if (!used[i] && first_[i] != std::byte{kGap}) return false;
    return true;
  }

 private:
  Dtype dtype_;
  Shape shape_;
  Strided strided_;
  std::size_t bytes_ = 0, mapped_ = 0;
  std::byte* base_ = nullptr;
  std::byte* first_ = nullptr;
  View view_{};
};

inline assay_value value(Tensor& t) {
  assay_value v{ASSAY_KIND_TENSOR, 1, {}};
  v.as.tensor = &t.view();
  return v;
}
inline assay_value value(std::int64_t i) {
  assay_value v{ASSAY_KIND_INT, 1, {}};
  v.as.integer = i;
  return v;
}
inline assay_value value(double x) {
  assay_value v{ASSAY_KIND_DOUBLE, 1, {}};
  v.as.real = x;
  return v;
}
inline assay_value none() { return {ASSAY_KIND_NONE, 1, {}}; }

// Fails the test if the kernel refuses.
inline void call(const assay_kernel& kernel, std::vector<assay_value> arguments,
                 std::vector<Tensor*> outputs) {
  std::vector<assay_tensor*> out;
  for (Tensor* t : outputs) out.push_back(&t->view());
  char message[256] = "";
  assay_call c{};
  c.size = sizeof(c);
  c.argument_count = static_cast<std::uint32_t>(arguments.size());
  c.arguments = arguments.data();
  c.output_count = static_cast<std::uint32_t>(out.size());
  c.message_capacity = sizeof(message);
  c.outputs = out.data();
  c.message = message;
  c.kernel = &kernel;
  ASSERT_EQ(kernel.run(&c), ASSAY_OK) << kernel.name << ": " << message;
}

// Our CPU kernels of an operator that this machine can run: at least the baseline.
inline std::vector<assay_kernel> levels(std::string_view op) {
  std::vector<assay_kernel> found;
  for (const EnrolledKernel& e : enrolled_kernels()) {
    const std::string_view schema = e.kernel.schema;
    if (schema.substr(0, schema.find('(')) == op && std::string_view(e.kernel.name).starts_with("cpu.") &&
        (e.kernel.unavailable == nullptr || e.kernel.unavailable() == nullptr))
      found.push_back(e.kernel);
  }
  EXPECT_FALSE(found.empty()) << op;
  return found;
}

inline const std::vector<Dtype> kFloats =
    kSanitized ? std::vector<Dtype>{Dtype::f32, Dtype::bf16}
               : std::vector<Dtype>{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16};

// Numbers of threads that results must not depend on, one first.
inline const std::vector<int> kThreads = kSanitized ? std::vector<int>{1, 7} : std::vector<int>{1, 2, 7, 64};

// Numbers of a wide range, with every special one among them.
class Edgy {
 public:
  explicit Edgy(unsigned seed) : generator_(seed) {}
  double operator()() {
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    static const double special[] = {0.0,   -0.0, 1.0,   -1.0,  kInfinity, -kInfinity, std::nan(""), 65504.0,
                                     65520, 5e-8, -6e-8, 1e-40, -1e-45,    5e-324,     3.4e38,       1e300};
    if (generator_() % 8 == 0) return special[generator_() % std::size(special)];
    return std::ldexp(normal_(generator_), static_cast<int>(generator_() % 21) - 10);
  }

 private:
  std::mt19937 generator_;
  std::normal_distribution<double> normal_;
};

class Normal {
 public:
  explicit Normal(unsigned seed) : generator_(seed) {}
  double operator()() { return normal_(generator_); }

 private:
  std::mt19937 generator_;
  std::normal_distribution<double> normal_;
};

}  // namespace assay::test
