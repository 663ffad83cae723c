// Shared by the oneDNN tests: strided tensors, and a fixture that runs its test once more in a process of the
// level.
//
// oneDNN reads its ISA cap once in a process, so each test starts this program again with the level's
// environment and the test's own name, and checks there.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/effort.h"
#include "vocabulary/kernel.h"

namespace assay::onednn_test {

using Sizes = std::vector<std::int64_t>;

// How elements lie in memory.
enum class Layout { contiguous, reversed, channels_last, last_outside, step2, padded_rows, expanded };
constexpr Layout kLayouts[] = {Layout::contiguous,   Layout::reversed, Layout::channels_last,
                               Layout::last_outside, Layout::step2,    Layout::padded_rows,
                               Layout::expanded};

// A size that a blocked kernel does not take in one step; smaller under a sanitizer, where a test's own loop is slow.
constexpr std::int64_t kMany = effort(64, 16);

constexpr double kUntouched = -777;   // in results before a call
constexpr std::int64_t kMargin = 16;  // elements before and behind that a kernel must leave alone

class Tensor {
 public:
  Tensor(Dtype dtype, Sizes sizes, Layout layout = Layout::contiguous)
      : dtype_(dtype), sizes_(std::move(sizes)) {
    const std::size_t rank = sizes_.size();
    strides_.assign(rank, 1);
    std::vector<std::size_t> order;  // slowest first
    for (std::size_t d = 0; d < rank; ++d) order.push_back(d);
    if (layout == Layout::reversed) std::reverse(order.begin(), order.end());
    if (layout == Layout::channels_last && rank > 2) {
      order.erase(order.begin() + 1);
      order.push_back(1);
    }
    if (layout == Layout::last_outside && rank > 2)
      std::rotate(order.begin() + 1, order.end() - 1, order.end());
    std::int64_t stride = layout == Layout::step2 ? 2 : 1;
    for (std::size_t i = rank; i-- > 0;) {
      strides_[order[i]] = stride;
      stride *= sizes_[order[i]];
      if (layout == Layout::padded_rows && i + 1 == rank) stride += 3;
    }
    if (layout == Layout::expanded && rank > 0) strides_[0] = 0;
    std::int64_t last = 0;
    for (std::size_t d = 0; d < rank; ++d) last += std::max<std::int64_t>(0, sizes_[d] - 1) * strides_[d];
    memory_.assign(static_cast<std::size_t>((last + 1 + 2 * kMargin) * bytes(dtype_)), std::byte{0xa5});
    view_.data = memory_.data() + kMargin * bytes(dtype_);
    view_.device = {ASSAY_CPU, 0};
    view_.ndim = static_cast<int>(rank);
    view_.dtype = info(dtype_).dlpack;
    view_.shape = sizes_.data();
    view_.strides = strides_.data();
    view_.byte_offset = 0;
  }
  Tensor(const Tensor&) = delete;

  View& view() { return view_; }
  std::int64_t numel() const { return view_.numel(); }
  const Sizes& sizes() const { return sizes_; }
  Dtype dtype() const { return dtype_; }
  double get(std::int64_t i) const { return load(at(i), dtype_); }
  void set(std::int64_t i, double value) { store(at(i), dtype_, value); }
  double get(const Sizes& index) const { return load(at(index), dtype_); }

  std::vector<double> values() const {  // in row-major order
    std::vector<double> all;
    for (std::int64_t i = 0; i < numel(); ++i) all.push_back(get(i));
    return all;
  }

  // Small integers of both signs, zeros among them, the same for the same seed.
  Tensor& fill(std::uint64_t seed, int largest = 4) {
    for (std::int64_t i = 0; i < numel(); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      set(i, static_cast<double>(static_cast<std::int64_t>(seed >> 33) % (2 * largest + 1)) - largest);
    }
    return *this;
  }
  // No byte outside the elements has changed.
  bool surroundings_intact() const {
    std::vector<bool> element(memory_.size(), false);
    for (std::int64_t i = 0; i < numel(); ++i) {
      const auto begin = static_cast<std::size_t>(static_cast<const std::byte*>(at(i)) - memory_.data());
      for (int b = 0; b < bytes(dtype_); ++b) element[begin + static_cast<std::size_t>(b)] = true;
    }
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (!element[i] && memory_[i] != std::byte{0xa5}) return false;
    return true;
  }
  Sizes index_of(std::int64_t i) const {
    Sizes index(sizes_.size());
    for (std::size_t d = sizes_.size(); d-- > 0; i /= sizes_[d]) index[d] = i % sizes_[d];
    return index;
  }

 private:
  std::byte* at(const Sizes& index) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides_[d];
    return static_cast<std::byte*>(view_.data) + offset * bytes(dtype_);
  }
  std::byte* at(std::int64_t i) const { return at(index_of(i)); }

  Dtype dtype_;
  Sizes sizes_, strides_;
  std::vector<std::byte> memory_;
  View view_;
};

// "f32[2@3 3@1]": sizes and strides.
inline std::string describe(const assay_tensor& t) {
  std::string s = std::string(name(*dtype_of(t.dtype))) + "[";
  for (int d = 0; d < t.ndim; ++d)
    s += (d == 0 ? "" : " ") + std::to_string(t.shape[d]) + "@" + std::to_string(t.strides[d]);
  return s + "]";
}

inline double rounded(double exact, Dtype dtype) { return round_to(exact, format(dtype)); }

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

inline const assay_kernel* kernel_of(std::string_view op, std::string_view level) {
  for (const EnrolledKernel& e : enrolled_kernels())
    if (std::string_view(e.kernel.schema).starts_with(std::string(op) + "(") && e.kernel.name == level)
      return &e.kernel;
  return nullptr;
}

inline assay_value value(Tensor& t) {
  assay_value v{};
  v.kind = ASSAY_KIND_TENSOR;
  v.count = 1;
  v.as.tensor = &t.view();
  return v;
}
inline assay_value value(double x) {
  assay_value v{};
  v.kind = ASSAY_KIND_DOUBLE;
  v.count = 1;
  v.as.real = x;
  return v;
}
inline assay_value value(std::int64_t x) {
  assay_value v{};
  v.kind = ASSAY_KIND_INT;
  v.count = 1;
  v.as.integer = x;
  return v;
}
inline assay_value none() { return {}; }

// One level, checked in a process that runs at it. Counts what was covered, and prints it.
class OnednnLevel : public testing::TestWithParam<const char*> {
 protected:
  // False if the test is done: a child process did it, or this machine cannot.
  bool here(std::string_view op) {
    kernel_ = kernel_of(op, GetParam());
    if (kernel_ == nullptr) {
      ADD_FAILURE() << "no kernel " << GetParam() << " for " << op;
      return false;
    }
    if (const char* lacks = kernel_->unavailable(); lacks != nullptr) {
      std::printf("%s not covered: %s\n", GetParam(), lacks);
      return false;
    }
    const std::string environment = kernel_->environment;
    const std::size_t equals = environment.find('=');
    const char* now = std::getenv(environment.substr(0, equals).c_str());
    if (now != nullptr && environment.substr(equals + 1) == now) return true;
    run_child(environment);
    return false;
  }

  // Calls the kernel. True if it computed, false if it refused, with a reason.
  bool call(std::vector<assay_value> arguments, std::vector<Tensor*> outputs) {
    std::vector<assay_tensor*> views;
    for (Tensor* t : outputs) {
      for (std::int64_t i = 0; i < t->numel(); ++i) t->set(i, kUntouched);
      views.push_back(&t->view());
    }
    char message[512] = "";
    assay_call c{};
    c.size = sizeof c;
    c.arguments = arguments.data();
    c.argument_count = static_cast<std::uint32_t>(arguments.size());
    c.outputs = views.data();
    c.output_count = static_cast<std::uint32_t>(views.size());
    c.message = message;
    c.message_capacity = sizeof message;
    c.kernel = kernel_;
    char information[128] = "";
    c.information = information;
    c.information_capacity = sizeof information;
    const int declared = kernel_->refuses(&c);
    for (Tensor* t : outputs)
      EXPECT_EQ(t->numel() == 0 ? 0 : t->get(0), t->numel() == 0 ? 0 : rounded(kUntouched, t->dtype()))
          << "refuses() computed";
    const int status = kernel_->run(&c);
    EXPECT_EQ(declared == ASSAY_OK, status == ASSAY_OK)
        << "refuses() says one thing, run() another: " << message;
    if (status == ASSAY_REFUSED) {
      EXPECT_STRNE(message, "");
      ++refusals_[message];
      return false;
    }
    EXPECT_EQ(status, ASSAY_OK) << message;
    described_ = std::string(information) + ":";
    for (const assay_value& v : arguments)
      if (v.kind == ASSAY_KIND_TENSOR) described_ += " " + describe(*v.as.tensor);
    for (Tensor* t : outputs) described_ += " -> " + describe(t->view());
    for (Tensor* t : outputs) EXPECT_TRUE(t->surroundings_intact()) << described_;
    ++computed_[information];
    EXPECT_STRNE(information, "");
    return status == ASSAY_OK;
  }

  // The last call and the code that ran it.
  const std::string& described() const { return described_; }

  int computed() const {
    int n = 0;
    for (const auto& [implementation, count] : computed_) n += count;
    return n;
  }

  void TearDown() override {
    for (const auto& [implementation, count] : computed_)
      std::printf("%s: %d calls agree, by %s\n", GetParam(), count, implementation.c_str());
    for (const auto& [reason, count] : refusals_)
      std::printf("%s: %d calls refused: %s\n", GetParam(), count, reason.c_str());
  }

  std::map<std::string, int> refusals_;

 private:
  void run_child(const std::string& environment) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      setenv("OMP_NUM_THREADS", "1", 0);
      putenv(const_cast<char*>(environment.c_str()));
      execl("/proc/self/exe", "onednn_test", filter.c_str(), "--gtest_brief=1", nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << environment << ": the process ended with status " << status;
  }

  const assay_kernel* kernel_ = nullptr;
  std::map<std::string, int> computed_;
  std::string described_;
};

}  // namespace assay::onednn_test
