#include "shape_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "graph/graph_check.h"
#include "view.h"

namespace assay {
namespace {

// What the operand stands for.
const Shape& run(const ShapeCall& call, std::size_t operand) {
  return call.binding.runs.at(call.operands[operand].substr(1));
}
const assay_value& value_of(const ShapeCall& call, const std::string& name) {
  const int at = call.op.schema.find(name);
  if (at < 0) throw std::invalid_argument("no argument " + name);
  return call.arguments[static_cast<std::size_t>(at)];
}
const assay_value& value(const ShapeCall& call, std::size_t operand) {
  return value_of(call, call.operands[operand]);
}

Shape reduced(const ShapeCall& call) {
  const Shape& full = run(call, 0);
  const assay_value& list = value(call, 1);
  const bool keep = value(call, 2).as.integer != 0;
  std::span<const std::int64_t> named;
  if (list.kind == ASSAY_KIND_INTS) named = {list.as.integers, list.count};
  if (list.kind == ASSAY_KIND_INT) named = {&list.as.integer, 1};
  const auto rank = static_cast<std::int64_t>(full.size());
  // Not Axes: there may be more dimensions than a kernel or a case takes.
  std::vector<bool> gone(full.size(), named.empty());
  for (const std::int64_t axis : named)
    if (rank > 0) gone[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  Shape shape;
  for (std::size_t d = 0; d < full.size(); ++d) {
    if (!gone[d])
      shape.push_back(full[d]);
    else if (keep)
      shape.push_back(1);
  }
  return shape;
}

// For each dimension of an image: one number may stand for all.
class Spatial {
 public:
  Spatial(const ShapeCall& call, std::string_view name, std::int64_t otherwise) : otherwise_(otherwise) {
    const int at = call.op.schema.find(name);
    if (at < 0) return;
    const assay_value& v = call.arguments[static_cast<std::size_t>(at)];
    if (v.kind == ASSAY_KIND_INTS) list_ = {v.as.integers, v.count};
  }
  bool empty() const { return list_.empty(); }
  std::int64_t operator[](std::size_t d) const {
    return list_.empty() ? otherwise_ : list_.size() == 1 ? list_[0] : list_[d];
  }

 private:
  std::int64_t otherwise_;
  std::span<const std::int64_t> list_;
};

template <class... Args>
void fail(const ShapeCall& call, std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
  if (!call.result.error.empty()) return;
  call.result.argument = call.op.schema.find(name);
  call.result.error =
      fmt::format("{}: {} {}", call.op.schema.name, name, fmt::format(format, std::forward<Args>(args)...));
}

// ATen takes a weight without elements never, and images without elements only where there are none, or no channels
// (native/Convolution.cpp, _select_conv_backend).
void need_elements(const ShapeCall& call) {
  const auto& weight = *static_cast<const View*>(value_of(call, "weight").as.tensor);
  if (weight.numel() == 0)
    fail(call, "weight", "has shape [{}], but must have elements",
         text({weight.sizes().begin(), weight.sizes().end()}));
  const auto& input = *static_cast<const View*>(value_of(call, "input").as.tensor);
  if (input.numel() == 0 && input.size(0) != 0 && input.size(1) != 0)
    fail(call, "input", "has shape [{}], but its images must have elements",
         text({input.sizes().begin(), input.sizes().end()}));
}

// Of sizes that are multiplied: a tensor may have any, where its elements are one in memory.
bool is_too_large(const ShapeCall& call, std::string_view name, const Shape& sizes) {
  const auto large = std::ranges::find_if(sizes, [](std::int64_t n) { return n > kMostSpatial; });
  if (large == sizes.end()) return false;
  fail(call, name, "has a size of {} in dimension {}, but must not have one above {}", *large,
       large - sizes.begin() + 2, kMostSpatial);
  return true;
}

Shape convolved(const ShapeCall& call) {
  need_elements(call);
  const Shape &image = run(call, 0), &window = run(call, 1);
  if (is_too_large(call, "weight", window)) return Shape(image.size());
  const Spatial stride(call, "stride", 1), padding(call, "padding", 0), dilation(call, "dilation", 1);
  Shape shape;
  for (std::size_t d = 0; d < image.size(); ++d) {
    const std::int64_t padded = image[d] + 2 * padding[d], extent = dilation[d] * (window[d] - 1) + 1;
    if (padded < extent)
      fail(call, "weight",
           "has a window of {} in dimension {}, which reaches over {}, but the padded input has {}",
           window[d], d + 2, extent, padded);
    shape.push_back(padded < extent ? 0 : (padded - extent) / stride[d] + 1);
  }
  return shape;
}

Shape transposed(const ShapeCall& call) {
  need_elements(call);
  const Shape &image = run(call, 0), &window = run(call, 1);
  if (is_too_large(call, "input", image) || is_too_large(call, "weight", window)) return Shape(image.size());
  const Spatial stride(call, "stride", 1), padding(call, "padding", 0), dilation(call, "dilation", 1),
      more(call, "output_padding", 0);
  Shape shape;
  for (std::size_t d = 0; d < image.size(); ++d) {
    if (more[d] >= std::max(stride[d], dilation[d]))
      fail(call, "output_padding",
           "is {} in dimension {}, but must be smaller than stride or dilation, {} and {}", more[d], d + 2,
           stride[d], dilation[d]);
    shape.push_back((image[d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (window[d] - 1) + more[d] +
                    1);
    if (shape.back() < 1)
      fail(call, "padding", "is {} in dimension {}, which leaves {} of the result", padding[d], d + 2,
           shape.back());
  }
  return shape;
}

// ATen takes no planes without elements, and none of no channels.
void need_planes(const ShapeCall& call) {
  const auto& self = *static_cast<const View*>(value_of(call, "self").as.tensor);
  for (int d = self.rank() - 3; d < self.rank(); ++d)
    if (self.size(d) == 0)
      fail(call, "self", "has shape [{}], but only its batch may be empty",
           text({self.sizes().begin(), self.sizes().end()}));
}

Shape pooled(const ShapeCall& call) {
  const Spatial window(call, "kernel_size", 1), padding(call, "padding", 0), dilation(call, "dilation", 1);
  const Spatial stride(call, "stride", 1);
  const int ceil = call.op.schema.find("ceil_mode");
  const bool up = ceil >= 0 && call.arguments[static_cast<std::size_t>(ceil)].as.integer != 0;
  need_planes(call);
  Shape shape;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t size = call.binding.sizes.at(call.operands[d]);
    const std::int64_t step = stride.empty() ? window[d] : stride[d];
    const std::int64_t extent = dilation[d] * (window[d] - 1) + 1, padded = size + 2 * padding[d];
    // Of the steps that fit; with ceil_mode, of one that fits in part, too.
    const std::int64_t room = padded - extent + (up ? step - 1 : 0);
    if (padding[d] > window[d] / 2)
      fail(call, "padding", "is {} in dimension {}, but must be at most half of kernel_size, {}", padding[d],
           d, window[d]);
    if (room < 0)
      fail(call, "kernel_size", "is {} in dimension {}: it reaches over {}, but the padded input has {}",
           window[d], d, extent, padded);
    std::int64_t n = std::max<std::int64_t>(room, 0) / step + 1;
    // With ceil_mode, a window may begin after the input, but not after its padding at the front.
    if (up && (n - 1) * step >= size + padding[d]) --n;
    shape.push_back(n);
  }
  return shape;
}

Shape resized(const ShapeCall& call) {
  need_planes(call);
  Shape shape;
  for (const std::string& symbol : call.operands) {
    shape.push_back(call.binding.sizes.at(symbol));
    if (shape.back() < 1) fail(call, "output_size", "has a {}, but must be positive", shape.back());
  }
  return shape;
}

Shape numel(const ShapeCall& call) {
  std::int64_t product = 1;
  for (const std::int64_t n : run(call, 0)) product *= n;
  return {product};
}

// "3"; or "e1", which counts from the end, as many as there are.
std::size_t place(const std::string& written, std::size_t all) {
  const bool from_end = written.starts_with('e');
  const std::string digits = written.substr(from_end ? 1 : 0);
  if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos)
    throw std::invalid_argument("\"" + written + "\" is no place of an edge: write 3, or e1 for the last");
  const std::size_t n = std::stoul(digits);
  return std::min(from_end ? all - std::min(n, all) : n, all);
}

// What is wrong with the graph's arguments, the check of the graph says.
Shape edge(const ShapeCall& call) {
  const Graph* graph = call.op.graph;
  constexpr std::size_t kAny = 1'000'000;
  const std::size_t node = place(call.operands[0], kAny), result = place(call.operands[1], kAny);
  if (graph == nullptr || node >= graph->nodes.size())
    throw std::invalid_argument(fmt::format("{}: there is no node {}", call.op.schema.name, node));
  GraphShapes shapes(*graph, call.arguments);
  const std::vector<Checked::Output>& outputs = shapes.of(node);
  if (result >= outputs.size()) {
    if (call.result.error.empty()) {
      call.result.error = shapes.fault().error;
      call.result.argument = call.op.schema.find(shapes.fault().argument);
    }
    return {};
  }
  const Shape& whole = outputs[result].shape;
  const std::size_t first = place(call.operands[2], whole.size()), last = place(call.operands[3], whole.size());
  return {whole.begin() + static_cast<std::ptrdiff_t>(std::min(first, last)),
          whole.begin() + static_cast<std::ptrdiff_t>(last)};
}

constexpr ShapeFunction kShapeFunctions[] = {{"reduced", 3, reduced},       {"convolved", 2, convolved},
                                             {"transposed", 2, transposed}, {"pooled", 2, pooled},
                                             {"resized", 2, resized},       {"numel", 1, numel},
                                             {"edge", 4, edge}};

}  // namespace

const ShapeFunction* find_shape_function(std::string_view name) {
  const auto* at = std::ranges::find(kShapeFunctions, name, &ShapeFunction::name);
  return at == std::end(kShapeFunctions) ? nullptr : at;
}

}  // namespace assay
