#include "products.h"

#include <string_view>

namespace assay::diagnose {
namespace {

const CallValue& argument_named(const Call& call, std::string_view name) {
  return call.arguments[static_cast<std::size_t>(call.op->schema.find(name))];
}

// One number stands for all dimensions.
std::vector<std::int64_t> numbers_named(const Call& call, std::string_view name, std::size_t n) {
  std::vector<std::int64_t> all = std::get<std::vector<std::int64_t>>(argument_named(call, name));
  if (all.size() == 1) all.resize(n, all[0]);
  return all;
}

}  // namespace

std::optional<Products> Products::of(const Call& call) {
  const std::string_view op = call.op->schema.name;
  Products p;
  const auto take = [&](std::string_view first, std::string_view second) {
    p.argument[0] = static_cast<std::size_t>(call.op->schema.find(first));
    p.argument[1] = static_cast<std::size_t>(call.op->schema.find(second));
    p.first_ = std::get<TensorData>(call.arguments[p.argument[0]]).shape;
    p.second_ = std::get<TensorData>(call.arguments[p.argument[1]]).shape;
    p.out_ = call.outputs[0].shape;
  };
  if (op == "mm" || op == "bmm") {
    take("self", "mat2");
  } else if (op == "addmm") {
    take("mat1", "mat2");
    const CallValue& alpha = argument_named(call, "alpha");
    p.factor = std::holds_alternative<double>(alpha) ? std::get<double>(alpha)
                                                     : static_cast<double>(std::get<std::int64_t>(alpha));
  } else if (op == "linear") {
    take("input", "weight");
    p.rows_only_ = true;
  } else if (op == "convolution" && !std::get<bool>(argument_named(call, "transposed"))) {
    take("input", "weight");
    p.is_window_ = true;
  } else {
    return std::nullopt;
  }
  if (!p.is_window_) {
    p.dimension[0] = p.first_.size() - 1;
    p.dimension[1] = p.rows_only_ ? 1 : p.second_.size() - 2;
    p.steps = p.first_.back();
    return p;
  }
  const std::size_t n = p.first_.size() - 2;
  p.stride_ = numbers_named(call, "stride", n);
  p.padding_ = numbers_named(call, "padding", n);
  p.dilation_ = numbers_named(call, "dilation", n);
  p.groups = std::get<std::int64_t>(argument_named(call, "groups"));
  p.dimension[0] = p.dimension[1] = 1;
  p.steps = p.second_[1];
  for (std::size_t d = 2; d < p.second_.size(); ++d) p.inner *= p.second_[d];
  return p;
}

std::vector<Product> Products::products(std::int64_t at) const {
  std::vector<Product> all;
  all.reserve(static_cast<std::size_t>(steps * inner));
  if (!is_window_) {
    const std::int64_t column = at % out_.back(), row = at / out_.back();
    const std::int64_t batch = out_.size() == 3 && !rows_only_ ? row / out_[1] * steps : 0;
    for (std::int64_t k = 0; k < steps; ++k)
      all.push_back({row * steps + k, rows_only_ ? column * steps + k : (batch + k) * out_.back() + column});
    return all;
  }
  const Shape i = index_of(out_, at);
  const Shape window(second_.begin() + 2, second_.end());
  for (std::int64_t c = 0; c < steps; ++c) {
    const std::int64_t channel = i[1] / (out_[1] / groups) * steps + c;
    for (std::int64_t t = 0; t < inner; ++t) {
      const Shape tap = index_of(window, t);
      std::int64_t first = i[0] * first_[1] + channel;
      bool inside = true;
      for (std::size_t d = 0; d < tap.size(); ++d) {
        const std::int64_t x = i[d + 2] * stride_[d] - padding_[d] + tap[d] * dilation_[d];
        inside = inside && x >= 0 && x < first_[d + 2];
        first = first * first_[d + 2] + x;
      }
      all.push_back(inside ? Product{first, (i[1] * steps + c) * inner + t} : Product{});
    }
  }
  return all;
}

}  // namespace assay::diagnose
