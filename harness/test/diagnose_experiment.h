// A call, and what somebody's kernel gave for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "harness/diagnose/diagnosis.h"
#include "harness/generate/data.h"
#include "vocabulary/case.h"

namespace assay::diagnose {

struct Experiment {
  Call call;
  TensorData result;

  explicit Experiment(const std::string& text) : call(materialise(parse_case(text))) {
    EXPECT_EQ(call.error, "");
    result = TensorData(call.outputs[0].dtype, call.outputs[0].shape);
  }
  const TensorData& tensor(int i) const {
    return std::get<TensorData>(call.arguments[static_cast<std::size_t>(i)]);
  }
  Experiment& fill(const std::function<double(std::int64_t)>& value) {
    for (std::int64_t i = 0; i < result.numel(); ++i) result.set(i, value(i));
    return *this;
  }
  Diagnosis diagnosis(std::chrono::milliseconds pairs = {}) const {
    Evidence evidence(call, parse_contract("", call.outputs[0].computed_in), {result.packed()});
    return diagnose(evidence, {.patience = {.pairs = pairs}});
  }
};

inline std::string first_cause(const Diagnosis& d) {
  return d.causes.empty() ? std::string() : d.causes[0].name;
}

}  // namespace assay::diagnose
