#include "case_size.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "../model/results.h"

namespace assay {
namespace {

constexpr std::size_t kMostDimensions = 64;  // of references, and of torch
constexpr double kGiB = 1 << 30;

// Bytes for each element: of an input in the call, in the worker, and as numbers of the reference; of an output as the
// reference's number, its bound, and what it is compared with.
constexpr double kInputBytes = 40;
constexpr double kOutputBytes = 130;
constexpr double kRuns =
    16;  // of an output: two for each kernel, of several kernels and the relations between runs

struct Largest {
  std::string name;
  double bytes = 0;
};

class Needs {
 public:
  void add(const std::string& what, Dtype dtype, const Shape& shape, double elements, double bytes_each) {
    const std::string named = fmt::format("{} is {}[{}]", what, name(dtype), text(shape));
    if (shape.size() > kMostDimensions)
      throw CaseError(fmt::format("{}: it has {} dimensions, and a case takes up to {}", named, shape.size(),
                                  kMostDimensions));
    if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; }))
      throw CaseError(fmt::format("{}: a size is negative", named));
    const double needed = elements * bytes_each;
    all_ += needed;
    if (needed > largest_.bytes) largest_ = {named, needed};
  }

  void check(const Case& c) const {
    const double there =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    if (all_ > there / 2)
      throw CaseError(
          fmt::format("{}: the case needs about {:.0f} GiB, {:.0f} of them for this tensor, and this machine "
                      "has {:.0f} GiB: {}",
                      largest_.name, all_ / kGiB, largest_.bytes / kGiB, there / kGiB, text(c)));
  }

 private:
  double all_ = 0;
  Largest largest_;
};

double count_of(const Shape& shape) {
  double n = 1;
  for (const std::int64_t size : shape) n *= static_cast<double>(size);
  return n;
}

}  // namespace

void check_size(const Case& c, std::span<const Checked::Output> outputs) {
  Needs needs;
  const auto add = [&](const std::string& what, const TensorSpec& t) {
    const Strided s = strided(t.shape, t.layout);
    // What is expanded has less memory than elements, and each of these is a number of the reference.
    needs.add(what, t.dtype, t.shape, std::max(static_cast<double>(s.offset + s.span), count_of(t.shape)),
              kInputBytes);
  };
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const std::string argument(c.op->schema.argument_storage[i].name);
    if (const auto* t = std::get_if<TensorSpec>(&c.arguments[i])) add(argument, *t);
    if (const auto* list = std::get_if<std::vector<TensorSpec>>(&c.arguments[i]))
      for (std::size_t n = 0; n < list->size(); ++n) add(fmt::format("{}[{}]", argument, n), (*list)[n]);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o)
    needs.add(fmt::format("the output {}", output_name(*c.op, o)), outputs[o].dtype, outputs[o].shape,
              count_of(outputs[o].shape), kOutputBytes + kRuns * bytes(outputs[o].dtype));
  needs.check(c);
}

}  // namespace assay
