#include "unknown_operator.h"

#include <algorithm>
#include <string_view>

namespace assay {

bool is_random(const std::string& op) {
  constexpr std::string_view kRandom[] = {"bernoulli",   "rand",      "normal",         "uniform",
                                          "exponential", "geometric", "cauchy",         "log_normal",
                                          "multinomial", "poisson",   "native_dropout", "binomial"};
  return std::ranges::any_of(kRandom, [&](std::string_view r) { return op.starts_with(r); });
}

bool only_moves(const std::string& op) {
  constexpr std::string_view kMoves[] = {
      "cat",          "stack",        "copy_",           "clone",          "index",
      "index_select", "gather",       "index_put",       "index_put_",     "_index_put_impl_",
      "masked_fill",  "masked_fill_", "slice_scatter",   "select_scatter", "roll",
      "flip",         "repeat",       "constant_pad_nd", "fill_",          "zero_",
      "tril",         "triu",         "index_copy"};
  return std::ranges::count(kMoves, std::string_view(op).substr(0, op.find('.'))) > 0;
}

bool overwrites(const std::string& op) { return op == "copy_" || op == "zero_" || op.starts_with("fill_"); }

}  // namespace assay
