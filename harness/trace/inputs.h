// What the inputs of a recorded call were in the engine: from what the operator should be given to what its kernel had.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../diagnose/stages.h"
#include "bisect.h"
#include "dump.h"
#include "folded.h"
#include "known.h"

namespace assay {

// Precondition: packed, and of as many elements.
TensorData reshaped(const TensorData& t, const Shape& shape);

class SeenInputs {
 public:
  // All must outlive this object.
  SeenInputs(const CaseFile& trace, Dump& dump, const KnownResults& results, const Foldings& foldings);

  struct Given {
    bool inherited = false;  // another result than PyTorch's was handed over
    std::vector<double> within;
    Assumed assumed;      // what it follows from, as in KnownResult
    std::string lost_in;  // the same
  };
  // The argument becomes what the kernel computed with, as far as the dump shows it; what became of it on its way there is said.
  Given read(std::size_t call, const std::string& argument, TensorData& t, BisectedCall& result);
  // What numbers lose that an engine keeps as its dump has them, where that is narrower than they are; or nothing.
  std::vector<double> lost_if_kept(const TensorData& t) const;
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
    Assumed assumed;
    std::string lost_in;
    bool unrecorded = false;  // what gave it

    void add(diagnose::Snapshot s, std::vector<double> known_within = {});
  };
  void source(std::size_t call, const std::string& argument, const TensorData& t, Seen& seen,
              BisectedCall& result);
  void of_parameter(std::size_t call, const std::string& argument, const std::string& parameter,
                    const TensorData& t, Seen& seen, BisectedCall& result);
  void name_exchanged(std::size_t call, const std::string& argument, const std::string& own, const TensorData& dumped,
                      BisectedCall& result) const;
  bool is_quantised(Seen& seen, const std::string& name, const std::string& argument, BisectedCall& result,
                    const TensorData* as_given = nullptr);
  bool is_folded(std::size_t call, const std::string& argument, const std::string& own, Seen& seen,
                 BisectedCall& result) const;
  std::optional<std::string> dumped_parameter(const RecordedCall& call, const std::string& argument) const;
  const RecordedTensor* recorded_result(const Origin& origin) const;
  void of_result(std::size_t call, const Origin& origin, const TensorData& t, Seen& seen);
  void of_unrecorded(const Through& through, Seen& seen);
  std::optional<std::string> of_another_module(const TensorData& own, const std::string& parameter) const;
  std::string memory_of(const RecordedCall& call, const std::string& argument) const;
  void add_dumped(Seen& seen, diagnose::Snapshot s, Dtype expected) const;
  void forget_rounding(Seen& seen, Dtype expected) const;
  std::string calls_between(std::size_t producer, std::size_t consumer) const;

  const CaseFile& trace_;
  Dump& dump_;
  const KnownResults& results_;
  const Foldings& foldings_;
  std::set<Dtype> rounded_to_;  // narrower dtypes that the dump has results in
  // A parameter's name, without the "#2" of another module's -> each of that name, and a call and argument that it was.
  std::map<std::string, std::map<std::string, std::pair<std::size_t, std::string>>> parameters_;
  std::map<std::string, std::set<std::string>> dumped_of_;  // by memory_of(): what the dump has of it
};

}  // namespace assay
