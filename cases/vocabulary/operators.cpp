#include "operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "case.h"

namespace assay {
namespace {

std::vector<const Operator*>& all_operators() {
  static std::vector<const Operator*> all;
  return all;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool is_near(std::string_view written, std::string_view name) {
  constexpr std::size_t kTelling = 3;  // letters that say something where they stand in a name as they are
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  // Not std::ranges::search: clang 14 cannot compile the subrange that libstdc++ 12 returns.
  if (written.size() >= kTelling &&
      std::search(name.begin(), name.end(), written.begin(), written.end(), same) != name.end())
    return true;
  return edit_distance(written, name) <= (written.size() + 2) / 3;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

void enrol_operator(const Operator& op) {
  if (find_operator(op.schema.name) != nullptr) return;
  const auto at = std::ranges::lower_bound(all_operators(), op.schema.name, {},
                                           [](const Operator* o) { return o->schema.name; });
  all_operators().insert(at, &op);
}

std::span<const Operator* const> operators() { return all_operators(); }

const Operator* find_operator(std::string_view name) {
  const auto at =
      std::ranges::lower_bound(all_operators(), name, {}, [](const Operator* o) { return o->schema.name; });
  return at != all_operators().end() && (*at)->schema.name == name ? *at : nullptr;
}

namespace {

std::vector<const Operator*> meant_by(std::string_view name) {
  if (const Operator* op = find_operator(name)) return {op};
  std::vector<const Operator*> all;
  for (const Operator* op : all_operators())
    for (const std::string& spelling : spellings(op->schema.name)) {
      if (spelling != name) continue;
      all.push_back(op);
      break;
    }
  return all;
}

}  // namespace

const Operator* find_spelled(std::string_view name) {
  const std::vector<const Operator*> meant = meant_by(name);
  return meant.size() == 1 ? meant[0] : nullptr;
}

const Operator& operator_named(std::string_view name) {
  const std::vector<const Operator*> meant = meant_by(name);
  if (meant.size() == 1) return *meant[0];
  throw CaseError(no_operator(name));
}

namespace {

struct Elsewhere {
  std::string_view name;                        // without regard to case and underscores
  std::array<std::string_view, 3> operators{};  // empty: no more
};
constexpr Elsewhere kElsewhere[] = {
    {"conv", {"convolution"}},
    {"conv1d", {"convolution"}},
    {"conv2d", {"convolution"}},
    {"conv3d", {"convolution"}},
    {"convtranspose", {"convolution"}},
    {"convtranspose1d", {"convolution"}},
    {"convtranspose2d", {"convolution"}},
    {"convtranspose3d", {"convolution"}},
    {"depthwiseconv2d", {"convolution"}},
    {"qlinearconv", {"quantized_convolution"}},
    {"matmul", {"mm", "bmm", "linear"}},
    {"batchmatmul", {"bmm"}},
    {"gemm", {"addmm", "mm", "linear"}},
    {"dense", {"linear"}},
    {"fullyconnected", {"linear"}},
    {"baddbmm", {"bmm"}},
    {"qlinearmatmul", {"quantized_linear"}},
    {"layernorm", {"native_layer_norm"}},
    {"layernormalization", {"native_layer_norm"}},
    {"groupnorm", {"native_group_norm"}},
    {"groupnormalization", {"native_group_norm"}},
    {"instancenorm", {"native_group_norm"}},
    {"instancenormalization", {"native_group_norm"}},
    {"batchnorm", {"native_batch_norm"}},
    {"batchnorm2d", {"native_batch_norm"}},
    {"batchnormalization", {"native_batch_norm"}},
    {"maxpool", {"max_pool2d", "max_pool2d_with_indices"}},
    {"maxpool2d", {"max_pool2d", "max_pool2d_with_indices"}},
    {"averagepool", {"avg_pool2d"}},
    {"avgpool", {"avg_pool2d"}},
    {"avgpool2d", {"avg_pool2d"}},
    {"averagepool2d", {"avg_pool2d"}},
    {"interpolate", {"upsample_bilinear2d", "upsample_nearest2d"}},
    {"resize", {"upsample_bilinear2d", "upsample_nearest2d"}},
    {"upsample", {"upsample_bilinear2d", "upsample_nearest2d"}},
    {"reducemean", {"mean.dim"}},
    {"reducesum", {"sum.dim_IntList"}},
    {"reducemax", {"amax"}},
    {"max", {"amax", "maximum"}},
    {"swish", {"silu"}},
    {"leakyrelu", {"leaky_relu"}},
    {"quantizelinear", {"quantize_per_tensor"}},
    {"dequantizelinear", {"dequantize_per_tensor"}},
    {"gather", {"embedding"}},
    {"identity", {"clone"}},
    {"clip", {"clamp"}},
    {"logsoftmax", {"log_softmax.int"}},
};

}  // namespace

std::vector<std::string_view> known_elsewhere_as(std::string_view name) {
  std::string plain;
  if (const std::size_t dot = name.find_last_of(".:"); dot != std::string_view::npos)
    name.remove_prefix(dot + 1);
  for (const char c : name)
    if (c != '_') plain += lower(c);
  std::vector<std::string_view> all;
  for (const Elsewhere& e : kElsewhere)
    if (e.name == plain)
      for (const std::string_view op : e.operators)
        if (!op.empty() && find_operator(op) != nullptr) all.push_back(op);
  return all;
}

std::string no_operator(std::string_view name) {
  std::string hint;
  std::vector<std::string_view> meant;
  for (const Operator* op : meant_by(name)) meant.push_back(op->schema.name);
  if (meant.empty()) meant = known_elsewhere_as(name);
  for (const std::string_view op : meant)
    hint += fmt::format("{}\"{}\"", hint.empty() ? "; did you mean " : " or ", op);
  return fmt::format("there is no operator \"{}\"{}", name,
                     hint.empty() ? nearest_operator_hint(name) : hint + "?");
}

std::vector<std::string> spellings(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  std::vector<std::string> all{std::string(name)};
  if (base != name) all.emplace_back(base);
  if (const Operator* op = find_operator(name))
    for (std::size_t k = 0, n = all.size(); k < n; ++k)
      all.push_back(fmt::format("{}::{}", op->schema.ns, all[k]));
  return all;
}

bool is_namespace(std::string_view word) {
  return std::ranges::any_of(all_operators(), [&](const Operator* op) { return op->schema.ns == word; });
}

std::string_view nearest_operator(std::string_view name) {
  if (const std::size_t colons = name.find("::");
      colons != std::string_view::npos && is_namespace(name.substr(0, colons)))
    name.remove_prefix(colons + 2);
  std::string_view best;
  std::size_t least = ~std::size_t{0};
  for (const Operator* op : all_operators()) {
    // "add" should find add.Tensor, whatever its overload is called.
    for (const std::string_view its : {op->schema.name, op->schema.base})
      if (const std::size_t d = edit_distance(name, its); d < least && is_near(name, its)) {
        least = d;
        best = op->schema.name;
      }
  }
  return best;
}

std::string nearest_operator_hint(std::string_view name) {
  const std::string_view nearest = nearest_operator(name);
  return nearest.empty() ? " (`assay ops` lists them)" : fmt::format("; did you mean \"{}\"?", nearest);
}

}  // namespace assay
