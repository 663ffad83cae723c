// A call whose arguments are being checked (check.h): what is known of it so far, and what is wrong with it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "check.h"
#include "view.h"

namespace assay {

class CallCheck {
 protected:
  CallCheck(const Operator& op, std::span<const assay_value> arguments) : op_(op), values_(arguments) {}

  const Argument& argument(std::size_t i) const { return op_.schema.argument_storage[i]; }

  template <class... Args>
  void fail(std::size_t i, fmt::format_string<Args...> format, Args&&... args) {
    checked_.argument = argument(i).name;
    checked_.error = fmt::format("{}: {} {}", op_.schema.name, argument(i).name,
                                 fmt::format(format, std::forward<Args>(args)...));
  }

  const View& tensor(std::size_t i) const { return *static_cast<const View*>(values_[i].as.tensor); }
  bool is_tensor(std::size_t i) const { return values_[i].kind == ASSAY_KIND_TENSOR; }

  const Operator& op_;
  std::span<const assay_value> values_;
  bool about_dtype_ = false;  // what is wrong with an attribute: it does not fit the dtype of the results
  Checked checked_;
  std::optional<Dtype> first_;  // of the first tensor whose dtype the dtype rule is about
  Dtype result_ = Dtype::f32;
};

}  // namespace assay
