// An operator's reference, free of the types it was written with.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "reading.h"
#include "reference.h"

namespace assay {

class ReferenceOf final : public Reference {
 public:
  ReferenceOf(const Operator& op, std::vector<ResultFunctions> results, std::string_view file, int line)
      : op_(op), results_(std::move(results)), file_(file), line_(line) {}

  const Operator& op() const override { return op_; }
  std::string_view file() const override { return file_; }
  int line() const override { return line_; }
  std::span<const ResultFunctions> results() const { return results_; }
  std::unique_ptr<Evaluation> evaluate(std::span<const assay_value> arguments,
                                       std::span<const Checked::Output> outputs) const override;

 private:
  const Operator& op_;
  std::vector<ResultFunctions> results_;
  std::string_view file_;
  int line_;
};

}  // namespace assay
