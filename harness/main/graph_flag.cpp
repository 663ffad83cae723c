#include "graph_flag.h"

#include <fmt/format.h>

#include "../graph/graph_file.h"
#include "commands.h"
#include "graph/graph.h"
#include "reports/file.h"

namespace assay {
namespace {

std::vector<std::string>& names_of_graphs() {
  static std::vector<std::string> names;
  return names;
}

void take_graph(const std::string& text_or_file) {
  try {
    for (const Operator* op : enrol_graphs(text_or_file)) names_of_graphs().emplace_back(op->schema.name);
    pass_graphs_on(text_or_file);
  } catch (const GraphError& e) {
    throw UsageError(fmt::format("--graph: {}", e.what()));
  } catch (const FileError& e) {
    throw UsageError(fmt::format("--graph: {}", e.what()));
  }
}

}  // namespace

void add_graphs(CLI::App& command) {
  command
      .add_option_function<std::vector<std::string>>(
          "--graph",
          [](const std::vector<std::string>& all) {
            for (const std::string& one : all) take_graph(one);
          },
          "operators put together, as one: a file of them, or the text of one, \"assay::swiglu(Tensor a, Tensor b) -> Tensor { silu(a) * b "
          "}\"; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE|TEXT");
}

const std::vector<std::string>& given_graphs() { return names_of_graphs(); }

}  // namespace assay
