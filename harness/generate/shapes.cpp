#include "shapes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

namespace assay {
namespace {

// Lanes of one vector, from 2 doubles of 128 bits to 64 bytes of 512.
constexpr std::array<std::int64_t, 6> kWidths{2, 4, 8, 16, 32, 64};
constexpr std::array<std::int64_t, 18> kPrimes{3,  5,  7,  11, 13, 17, 19, 23,  29,
                                               31, 37, 43, 53, 61, 67, 97, 127, 257};
constexpr SizeBudget kLarge{65'536, 300'000};
constexpr SizeBudget kOneThread{2 * 32'768, 2 << 20};

std::int64_t numel(const ShapePattern& pattern, const ShapeBinding& binding) {
  std::int64_t n = 1;
  for (const std::int64_t size : instantiate(pattern, binding)) n *= size;
  return n;
}

// Halving keeps a size at a vector width or beside it: 33, 16, 8.
void shrink_to_fit(std::int64_t& size, const ShapeAlternative& alternative, const ShapeBinding& binding,
                   const SizeBudget& budget) {
  while (size > 1 && !fits(alternative, binding, budget)) size /= 2;
}

// Whether windows go over this size of the binding, which is a symbol.
bool is_image(const ShapeAlternative& alternative, const ShapeBinding& binding, const std::int64_t& size) {
  return std::ranges::any_of(alternative.windows_of_sizes(), [&](const auto& window) {
    const auto symbol = binding.sizes.find(window.second);
    return symbol != binding.sizes.end() && &symbol->second == &size;
  });
}

void make_distinct(std::vector<std::int64_t*>& sizes, const ShapeAlternative& alternative,
                   const ShapeBinding& binding, const SizeBudget& budget) {
  std::set<std::int64_t> seen;
  for (std::int64_t* size : sizes) {
    const std::int64_t before = *size;
    while (seen.contains(*size)) ++*size;
    if (!fits(alternative, binding, budget)) {
      *size = 1;
      while (seen.contains(*size)) ++*size;
    }
    if (!fits(alternative, binding, budget)) *size = before;
    seen.insert(*size);
  }
}

template <class Function>  // (Shape& window, const Shape& run)
void each_window(const ShapeAlternative& alternative, ShapeBinding& binding, const Function& function) {
  for (const std::string& name : alternative.runs())
    if (const std::string* in = alternative.window_in(name)) function(binding.runs[name], binding.runs[*in]);
}

void draw_windows(Draw& draw, const ShapeAlternative& alternative, ShapeBinding& binding) {
  each_window(alternative, binding, [&](Shape& window, const Shape&) {
    for (std::int64_t& size : window) size = draw_window(draw);
  });
  for (const auto& [size, in] : alternative.windows_of_sizes()) binding.sizes[size] = draw_window(draw);
}

// In a graph several windows may go over what is left of one image. So that something is left, it is a few times as large as they.
void draw_images(Draw& draw, const ShapeAlternative& alternative, ShapeBinding& binding) {
  std::map<std::string, std::int64_t> windows;
  for (const auto& [size, in] : alternative.windows_of_sizes())
    if (binding.sizes.contains(in)) windows[in] += binding.sizes[size];
  for (const auto& [image, all] : windows) binding.sizes[image] = all * draw.range(1, 4);
}

bool in_outputs(const ShapeAlternative& alternative, const std::string& symbol) {
  return std::ranges::any_of(alternative.outputs, [&](const ShapePattern& p) {
    return std::ranges::any_of(p.dims, [&](const DimPattern& d) {
      return (d.kind == DimPattern::Kind::symbol && d.name == symbol) ||
             (d.kind == DimPattern::Kind::product && (d.name == symbol || d.operands[0] == symbol));
    });
  });
}

}  // namespace

std::int64_t draw_size(Draw& draw) {
  switch (draw.weighted({45, 20, 15, 5, 15})) {
    case 0: {
      const std::int64_t width = draw.pick(kWidths);
      switch (draw.range(0, 3)) {
        case 0:
          return width - 1;
        case 1:
          return width;
        case 2:
          return width + 1;
        default:
          return 2 * width + 1;
      }
    }
    case 1:
      return draw.range(1, 9);
    case 2:
      return draw.pick(kPrimes);
    case 3:
      return 1;
    default:
      return draw.range(100, 700);
  }
}

std::vector<std::size_t> draw_runs(Draw& draw, const ShapeAlternative& alternative) {
  std::vector<std::size_t> lengths;
  std::size_t left = greatest_run(alternative) + alternative.runs().size();  // each begins with one
  const std::vector<std::string> runs = alternative.runs();
  for (const std::string& run : runs) {
    if (const std::string* in = alternative.window_in(run)) {
      lengths.push_back(lengths[static_cast<std::size_t>(std::ranges::find(runs, *in) - runs.begin())]);
      continue;
    }
    const std::size_t rest = runs.size() - lengths.size() - 1;
    const std::size_t drawn = draw.weighted({6, 22, 26, 22, 16, 8});
    lengths.push_back(std::clamp<std::size_t>(drawn, alternative.some(run) ? 1 : 0, left - 1 - rest));
    left -= lengths.back();
  }
  return lengths;
}

ShapeBinding with_runs(const ShapeAlternative& alternative, const std::vector<std::size_t>& lengths) {
  ShapeBinding binding;
  for (const std::string& symbol : alternative.symbols()) binding.sizes[symbol] = 1;
  std::size_t i = 0;
  for (const std::string& run : alternative.runs()) binding.runs[run].assign(lengths[i++], 1);
  return binding;
}

std::int64_t draw_window(Draw& draw) {
  return draw.pick(std::array<std::int64_t, 9>{1, 1, 2, 3, 3, 3, 4, 5, 7});
}

void fit_windows(const ShapeAlternative& alternative, ShapeBinding& binding) {
  each_window(alternative, binding, [](Shape& window, const Shape& run) {
    window.resize(run.size(), 1);
    for (std::size_t d = 0; d < run.size(); ++d)
      window[d] = std::min(window[d], std::max<std::int64_t>(run[d], 1));
  });
  for (const auto& [size, in] : alternative.windows_of_sizes()) {
    const auto symbol = binding.sizes.find(in);
    const std::int64_t room = symbol != binding.sizes.end() ? symbol->second : std::stoll(in);
    binding.sizes[size] = std::min(binding.sizes[size], std::max<std::int64_t>(room, 1));
  }
}

std::vector<std::int64_t*> free_sizes(const ShapeAlternative& alternative, ShapeBinding& binding) {
  std::vector<std::int64_t*> sizes = sizes_of(alternative, binding);
  each_window(alternative, binding, [&](Shape& window, const Shape&) {
    std::erase_if(sizes, [&](const std::int64_t* s) {
      return std::ranges::any_of(window, [&](const std::int64_t& own) { return &own == s; });
    });
  });
  for (const auto& [size, in] : alternative.windows_of_sizes()) std::erase(sizes, &binding.sizes.at(size));
  return sizes;
}

bool fits(const ShapeAlternative& alternative, const ShapeBinding& binding, const SizeBudget& budget) {
  std::vector<std::int64_t> sizes;
  for (const auto& [symbol, size] : binding.sizes) sizes.push_back(size);
  for (const auto& [name, run] : binding.runs) sizes.insert(sizes.end(), run.begin(), run.end());
  // No operator alone has more sizes than a convolution in three dimensions. Of a graph, each has some of them.
  constexpr std::size_t kMostOfOperator = 10, kOfOneInGraph = 7;
  if (sizes.size() > kMostOfOperator) {
    std::ranges::sort(sizes, std::greater<>());
    sizes.resize(kOfOneInGraph);
  }
  std::int64_t left =
      budget.work;  // divided by one size after the other: their product may be beyond any number
  for (const std::int64_t size : sizes) left /= std::max<std::int64_t>(size, 1);
  const auto small = [&](const ShapePattern& p) {
    return p.computed() || numel(p, binding) <= budget.elements;
  };
  return left > 0 && std::ranges::all_of(alternative.inputs, small) &&
         std::ranges::all_of(alternative.outputs, small);
}

std::size_t greatest_run(const ShapeAlternative& alternative) {
  const std::vector<std::string> runs = alternative.runs();
  if (runs.empty()) return 0;
  std::size_t fixed = 1;
  for (const ShapePattern& p : alternative.inputs)
    if (std::ranges::any_of(p.dims, [&](const DimPattern& d) {
          return d.kind == DimPattern::Kind::run && d.name == runs.front();
        }))
      fixed = std::max(fixed, p.dims.size());
  return kMaxRank + 1 - std::min(fixed, kMaxRank + 1);
}

std::vector<std::int64_t*> sizes_of(const ShapeAlternative& alternative, ShapeBinding& binding) {
  std::vector<std::int64_t*> sizes;
  for (const std::string& symbol : alternative.symbols()) sizes.push_back(&binding.sizes.at(symbol));
  for (const bool window : {true, false})
    for (const std::string& run : alternative.runs())
      if ((alternative.window_in(run) != nullptr) == window)
        for (std::int64_t& size : binding.runs.at(run)) sizes.push_back(&size);
  return sizes;
}

ShapeBinding cycle_binding(const ShapeAlternative& alternative, std::size_t dimensions,
                           const std::vector<std::int64_t>& sizes) {
  std::vector<std::size_t> lengths(alternative.runs().size(), 1);
  if (!lengths.empty())
    lengths[0] = std::clamp<std::size_t>(dimensions, alternative.some(alternative.runs()[0]) ? 1 : 0,
                                         greatest_run(alternative));
  ShapeBinding binding = with_runs(alternative, lengths);
  fit_windows(alternative, binding);
  std::size_t i = 0;
  for (std::int64_t* size : sizes_of(alternative, binding)) *size = sizes[i++ % sizes.size()];
  fit_windows(alternative, binding);
  return binding;
}

bool takes_any_rank(const ShapeAlternative& alternative) {
  const std::vector<std::string> runs = alternative.runs();
  return !runs.empty() && std::ranges::none_of(runs, [&](const std::string& run) {
    return alternative.window_in(run) != nullptr;
  });
}

ShapeBinding draw_binding(Draw& draw, const ShapeAlternative& alternative, bool deep) {
  const SizeBudget budget = draw.chance(4) ? kLarge : SizeBudget{};
  std::vector<std::size_t> lengths = draw_runs(draw, alternative);
  if (deep)
    lengths[0] = greatest_run(alternative) +
                 static_cast<std::size_t>(draw.range(1, std::int64_t{kDeepRank - kMaxRank}));
  ShapeBinding binding = with_runs(alternative, lengths);
  std::vector<std::int64_t*> sizes = sizes_of(alternative, binding);
  if (sizes.empty()) return binding;

  const std::size_t mode = draw.weighted({55, 30, 15});  // free, all different, all equal
  if (mode == 2) {
    std::int64_t size = draw_size(draw);
    for (;; size /= 2) {
      for (std::int64_t* s : sizes) *s = size;
      if (size <= 1 || fits(alternative, binding, budget)) break;
    }
  } else {
    // In random order, so that each dimension is sometimes the first to take from the budget, which must leave the
    // later ones something.
    const std::int64_t left = draw.range(1, 3);
    for (std::int64_t* s : sizes) *s = left;
    draw_windows(draw, alternative, binding);
    draw_images(draw, alternative, binding);
    const std::vector<std::int64_t*> free = free_sizes(alternative, binding);
    for (const std::int64_t i : draw.permutation(free.size())) {
      std::int64_t& size = *free[static_cast<std::size_t>(i)];
      const std::int64_t least = is_image(alternative, binding, size) ? size : 1;
      size = std::max(draw_size(draw), least);
      while (size > least && !fits(alternative, binding, budget)) size = std::max(size / 2, least);
    }
    if (mode == 1) make_distinct(sizes, alternative, binding, budget);
    // The others fit because of padding, or not at all.
    if (free.size() < sizes.size() && draw.chance(90)) fit_windows(alternative, binding);
  }
  if (draw.chance(3)) *draw.pick(sizes) = 0;
  return binding;
}

ShapeBinding draw_long_binding(Draw& draw, const ShapeAlternative& alternative) {
  ShapeBinding binding = cycle_binding(alternative, 1, {1});
  std::vector<std::int64_t*> sizes = sizes_of(alternative, binding);
  if (sizes.empty()) return binding;
  for (std::int64_t* size : sizes) *size = draw.range(1, 3);
  std::int64_t* longest = sizes.back();
  for (auto& [symbol, size] : binding.sizes)
    if (!in_outputs(alternative, symbol)) longest = &size;
  *longest = draw.range(8'192, 32'768);
  shrink_to_fit(*longest, alternative, binding, kLarge);
  return binding;
}

ShapeBinding draw_split_binding(Draw& draw, const ShapeAlternative& alternative) {
  std::vector<std::size_t> lengths = draw_runs(draw, alternative);
  for (std::size_t& n : lengths) n = std::max<std::size_t>(n, 1);
  ShapeBinding binding = with_runs(alternative, lengths);
  const std::vector<std::int64_t*> sizes = free_sizes(alternative, binding);
  if (sizes.empty()) return binding;
  draw_windows(draw, alternative, binding);
  for (std::int64_t* size : sizes) *size = draw.range(2, 9);
  while (fits(alternative, binding, kOneThread)) {
    std::int64_t* size = draw.pick(sizes);
    *size += draw.range(1, *size);
  }
  // The product of many sizes is even more often than not, and work that divides evenly has no remainder to lose.
  if (draw.chance(75))
    for (std::int64_t* size : sizes) *size |= 1;
  fit_windows(alternative, binding);
  return binding;
}

}  // namespace assay
