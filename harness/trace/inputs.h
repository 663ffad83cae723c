// What the inputs of a recorded call were in the engine: from what the operator should be given to what its kernel had.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "../diagnose/stages.h"
#include "bisect.h"
#include "dump.h"
#include "known.h"

namespace assay {

// Precondition: packed, and of as many elements.
TensorData reshaped(const TensorData& t, const Shape& shape);

class Inputs {
 public:
  // All must outlive this object.
  Inputs(const CaseFile& trace, Dump& dump, const KnownResults& results);

  struct Given {
    bool inherited = false;  // another result than PyTorch's was handed over
    std::vector<double> within;
  };
  // The argument becomes what the kernel computed with, as far as the dump shows it; what became of it on its way there is said.
  Given read(std::size_t call, const std::string& argument, TensorData& t, BisectedCall& result);
  // Whether a result is what its consumer read.
  void read_by_consumer(std::size_t call, const std::string& output, const TensorData& returned,
                        BisectedCall& result);

 private:
  struct Seen {
    std::vector<diagnose::Snapshot> snapshots;
    std::vector<std::vector<double>> within;  // of each
    std::set<std::string> names;              // in the dump
    std::string between;                      // calls that ran after it was produced
    Shape shape;                              // to say in what became of it
    bool inherited = false;
    bool computed = false;  // of what was produced

    void add(diagnose::Snapshot s, std::vector<double> known_within = {});
  };
  void source(std::size_t call, const std::string& argument, const TensorData& t, Seen& seen,
              BisectedCall& result);
  void add_dumped(Seen& seen, diagnose::Snapshot s, Dtype expected) const;
  void forget_rounding(Seen& seen, Dtype expected) const;
  std::string calls_between(std::size_t producer, std::size_t consumer) const;

  const CaseFile& trace_;
  Dump& dump_;
  const KnownResults& results_;
  std::set<Dtype> rounded_to_;  // narrower dtypes that the dump has results in
};

}  // namespace assay
