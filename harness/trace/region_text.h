// Writing a graph's text for calls of a trace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../model/call.h"

namespace assay {

// Names of a graph for what has names with other characters: "block.bn1/native_batch_norm" is block_bn1_native_batch_norm.
class GraphNames {
 public:
  // One that is not in use yet.
  std::string name(const std::string& called);
  const std::map<std::string, std::string>& called() const { return called_; }  // by their new names

 private:
  std::map<std::string, std::string> called_;
};

class RegionText {
 public:
  std::string name(const std::string& called) { return names_.name(called); }
  const std::map<std::string, std::string>& names() const { return names_.called(); }

  // An argument of the graph. Where there are too many, numbers are written out, and tensors that are parameters become parts of one.
  struct Argument {
    std::string name;
    TensorData data{};
    std::vector<double> within{};
    bool is_parameter = false;
    std::optional<double> number{};  // in place of the tensor
  };
  void argument(Argument a) { arguments_.push_back(std::move(a)); }
  // One statement: names of its results, the expression, and what people call it.
  void statement(const std::vector<std::string>& results, const std::string& expression, std::string called);
  void result(const std::string& name, const Shape& shape);

  struct Written {
    std::string
        text;  // the graph's name follows from all else, so that the same calls again are the same graph
    std::vector<Argument> arguments;
    std::vector<std::string> statements;  // what people call them
    std::size_t first_line = 0;           // that of the first statement
  };
  Written written() &&;

 private:
  void write_out_numbers();
  void put_together();

  GraphNames names_;
  std::vector<Argument> arguments_;
  std::vector<std::string> statements_;
  std::string body_, results_, result_shapes_;
  std::size_t result_count_ = 0;
};

}  // namespace assay
