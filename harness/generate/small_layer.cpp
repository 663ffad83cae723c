#include "small_layer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "vocabulary/domain.h"

namespace assay {
namespace {

constexpr std::int64_t kFewChannels = 4;  // colours and their kin
constexpr std::int64_t kWholeImage = 8;   // images that a window takes whole have 7 or 8: kernels know these numbers

// Two sizes, one of them a multiple of the other: an image and what it is resized to. Twice as large is code of its own.
struct Scaled {
  std::int64_t *smaller, *larger;
};

// Those of the last dimensions of the first tensor and of a list of sizes beside it.
std::vector<Scaled> scaled_sizes(const Layer& layer, ShapeBinding& binding) {
  std::vector<Scaled> all;
  const auto size_in = [&](const std::vector<DimPattern>& dims, std::size_t from_last) -> std::int64_t* {
    if (from_last >= dims.size()) return nullptr;
    const DimPattern& dim = dims[dims.size() - 1 - from_last];
    return dim.kind == DimPattern::Kind::symbol ? &binding.sizes.at(dim.name) : nullptr;
  };
  const ShapePattern* tensor = nullptr;
  for (const ShapePattern& p : layer.alternative.inputs)
    if (tensor == nullptr &&
        layer.c.op->schema.argument_storage[static_cast<std::size_t>(p.argument)].is_tensor())
      tensor = &p;
  for (const ShapePattern& p : layer.alternative.inputs) {
    if (tensor == nullptr ||
        layer.c.op->schema.argument_storage[static_cast<std::size_t>(p.argument)].is_tensor())
      continue;
    for (std::size_t k = 0; k < p.dims.size(); ++k) {
      std::int64_t *a = size_in(p.dims, k), *b = size_in(tensor->dims, k);
      if (a == nullptr || b == nullptr || a == b || *a == 0 || *b == 0) continue;
      if (*a > *b) std::swap(a, b);
      if (*b % *a == 0) all.push_back({a, b});
    }
  }
  return all;
}

// Images whose rows were whole vectors, of 4 elements at least, get such of 8 again: an eighth of 224 is 28, and a quarter of that 7. What a kernel does with
// its last vector, at stride 2 as well, shows in rows that end with one.
void keep_whole_vectors(const Layer& layer, const Least& least, const SizeBudget& budget,
                        const ShapeBinding& before, ShapeBinding& binding) {
  constexpr std::int64_t kRow = 16;  // and 8 at stride 2
  ShapeBinding original = before;
  const std::vector<std::int64_t*> sizes = sizes_of(layer.alternative, binding);
  const std::vector<std::int64_t*> originals = sizes_of(layer.alternative, original);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!least.contains(sizes[i]) || *originals[i] % (kRow / 4) != 0 || *sizes[i] % (kRow / 2) == 0) continue;
    const std::int64_t small = std::exchange(*sizes[i], kRow);
    if (*originals[i] < kRow || !fits(layer.alternative, binding, budget)) *sizes[i] = small;
  }
}

}  // namespace

// Windows are given by a list of ints, or by a tensor's dimensions. An image has room for two of them.
Least least_sizes(const Layer& layer, ShapeBinding& binding) {
  Least least;
  // Channels in groups stay in groups, and those of a group several or one. Of an image, 3 for its colours stay 3: kernels know that number.
  for (const ShapePattern& p : layer.alternative.inputs)
    for (const DimPattern& d : p.dims)
      if (d.kind == DimPattern::Kind::product)
        for (const std::string& name : {d.name, d.operands[0]})
          least[&binding.sizes.at(name)] =
              binding.sizes.at(name) <= kFewChannels ? binding.sizes.at(name) : 2;
  for (const std::string& name : layer.alternative.runs())
    if (const std::string* in = layer.alternative.window_in(name)) {
      const Shape& window = binding.runs.at(name);
      Shape& image = binding.runs.at(*in);
      for (std::size_t d = 0; d < window.size(); ++d) {
        least[&window[d]] = window[d];
        least[&image[d]] = std::min(image[d], window[d] == 1 ? 4 : 2 * window[d]);
      }
    }
  for (std::size_t i = 0; i < layer.c.arguments.size(); ++i) {
    if (domain(*layer.c.op, layer.c.op->schema.argument_storage[i].name).kind != Domain::Kind::window)
      continue;
    const auto& window = std::get<std::vector<std::int64_t>>(layer.c.arguments[i]);
    const std::vector<DimPattern>& dims = layer.alternative.inputs.front().dims;
    for (std::size_t k = 0; k < 2 && k < dims.size(); ++k) {  // from the last one on
      const DimPattern& dim = dims[dims.size() - 1 - k];
      if (dim.kind != DimPattern::Kind::symbol || window.empty()) continue;
      std::int64_t& image = binding.sizes.at(dim.name);
      const std::int64_t size = window[k < window.size() ? window.size() - 1 - k : 0];
      least[&image] = std::min(image, size >= image ? kWholeImage : 2 * size);
    }
  }
  return least;
}

bool make_small(Draw* draw, const Layer& layer, ShapeBinding& binding, const SizeBudget& budget) {
  const Least least = least_sizes(layer, binding);
  std::vector<std::int64_t*> sizes = sizes_of(layer.alternative, binding);
  const auto bound = [&](const std::int64_t* size) {
    const auto found = least.find(size);
    return found == least.end() ? std::int64_t{1} : found->second;
  };
  std::int64_t* kept = draw != nullptr && !sizes.empty() && draw->chance(50) ? draw->pick(sizes) : nullptr;
  std::erase(sizes, kept);
  std::vector<Scaled> scaled = scaled_sizes(layer, binding);
  if (draw != nullptr && draw->chance(25)) scaled.clear();
  for (const Scaled& pair : scaled) std::erase(sizes, pair.larger);  // goes with the smaller one
  if (kept != nullptr && std::ranges::count(scaled, kept, &Scaled::larger) > 0) kept = nullptr;
  while (!fits(layer.alternative, binding, budget)) {
    std::erase_if(sizes, [&](const std::int64_t* size) { return *size <= bound(size); });
    if (sizes.empty() && kept != nullptr) sizes.push_back(std::exchange(kept, nullptr));
    if (sizes.empty() || *sizes[0] <= bound(sizes[0])) return false;
    std::int64_t* size = draw != nullptr
                             ? draw->pick(sizes)
                             : *std::ranges::max_element(sizes, {}, [](const std::int64_t* s) { return *s; });
    const std::int64_t before = std::exchange(*size, std::max(*size / 2, bound(size)));
    for (const Scaled& pair : scaled)
      if (pair.smaller == size) *pair.larger = *pair.larger / before * *size;
  }
  if (scaled.empty() && draw != nullptr && draw->chance(60))
    keep_whole_vectors(layer, least, budget, layer.binding, binding);
  return true;
}

void make_odd(const Layer& layer, ShapeBinding& binding, const SizeBudget& budget) {
  constexpr std::int64_t kLeastToChange = 4;  // 2 and 3 are of their own
  const Least least = least_sizes(layer, binding);
  for (std::int64_t* size : sizes_of(layer.alternative, binding)) {
    const auto found = least.find(size);
    const std::int64_t bound = found == least.end() ? 1 : found->second;
    if (*size < kLeastToChange || *size % 2 != 0 || *size <= bound) continue;
    ++*size;  // rather than one less: kernels look at 128 and 256
    if (!fits(layer.alternative, binding, budget)) *size -= 2;
  }
}

}  // namespace assay
