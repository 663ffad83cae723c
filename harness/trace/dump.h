// What another engine gave for a recorded program, by the names of the program's calls.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../diagnose/change.h"
#include "../diff/match.h"
#include "../files/case_file.h"
#include "../model/call.h"
#include "../tensors/tensor_file.h"
#include "matching.h"

namespace assay {

// A text that the recorder left with a call; empty if it did not.
std::string note_of(const RecordedCall& call, const std::string& key);

// What a call is called: by the recorder, or else by its number.
std::string name_of(const CaseFile& trace, std::size_t call);

// "conv" of the call "conv/convolution".
std::string module_of(const RecordedCall& call);

class Dump {
 public:
  // All must outlive this object. With a `precision`, results whose numbers all are of that format are taken for rounded to it. The map counts before what was matched, and that before names that are equal. Throws CaseError for a map
  // that names nothing of the trace, FileError for one that names nothing of the dump.
  Dump(const CaseFile& trace, const TensorFile& file, const diff::NameMap& map, const Matched& matched,
       std::optional<Dtype> precision = {});

  struct Found {
    std::string name;
    bool by_shape =
        false;  // it has no name of the trace's, but is the only tensor of its shape on either side, and much like it
  };
  // A result, or what a kernel had of an argument at a moment: "act", "act:out1", "act:weight", "act:packed/weight".
  std::optional<Found> result(std::size_t call, const std::string& output) const;
  std::optional<std::string> argument(std::size_t call, const std::string& argument) const;
  std::optional<std::string> parameter(const std::string& name) const { return dumped_name(name); }
  // Whether it is what the model was given, which is what the program gave it.
  bool is_edge(const std::string& name) const { return matched_.edges.contains(name); }
  // Whether it came with the engine's nodes.
  bool is_of_engine() const { return !matched_.names.empty(); }
  // How a tensor was kept as integers; nothing if it was not, or the dump does not say.
  std::optional<Steps> steps_of(const std::string& name) const;
  // The tensor of this name is the first result of that call from now on, and of no other, whatever its name says.
  void is_result_of(const std::string& name, std::size_t call) { results_of_[name] = call; }

  TensorData read(const std::string& name);
  TensorData peek(const std::string& name) const;  // the same, and it does not count as used
  Dtype dtype(const std::string& name) const { return file_.entry(name).dtype; }
  std::optional<Dtype> precision() const { return precision_; }
  // To what a result was rounded before it was dumped; nothing if it does not show.
  std::optional<Dtype> rounded_to(const TensorData& t) const;
  // Parameters that the program writes to: of which moment the dump's are, nobody knows.
  std::vector<std::string> written() const;
  // Of the others, those that were never read.
  std::vector<std::string> unused() const;
  // All tensors but these, for a search.
  std::vector<diagnose::Source> sources(const std::set<std::string>& without) const;

 private:
  void check_map() const;
  bool is_alone(const RecordedCall& call) const;  // whether its module's name is its own
  void find_last_of_modules();
  bool is_namesake(std::size_t call, const std::string& output, const std::string& name, const std::string& found) const;
  void find_by_shape();
  TensorData tensor(const TensorEntry& entry) const;
  std::optional<std::string> dumped_name(const std::string& name) const;
  std::vector<std::string> names_of(const RecordedCall& call, const std::string& suffix) const;

  const CaseFile& trace_;
  const TensorFile& file_;
  const diff::NameMap& map_;
  const Matched& matched_;
  const std::optional<Dtype> precision_;
  std::set<std::string> names_, used_;
  std::map<std::string, int> calls_in_;  // by module
  std::map<std::string, std::string> result_of_;  // by module: the call whose result is the module's, of several calls
  std::map<std::size_t, std::string> by_shape_;
  std::map<std::string, std::size_t> results_of_;  // by name in the dump
};

}  // namespace assay
