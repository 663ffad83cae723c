#include "torch_graph.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "../registry/configured.h"
#include "../registry/installed.h"
#include "../registry/subprocess.h"
#include "../run/forked.h"
#include "graph/graph.h"
#include "graph_file.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

std::string torch_python() {
  const char* chosen = std::getenv("ASSAY_TORCH_PYTHON");
  return chosen != nullptr && *chosen != 0 ? chosen : configured::python;
}

// As recorded_operators.py reads them.
Json operators_for_torch() {
  Json all = Json::array();
  for (const Operator* op : operators()) {
    if (op->graph != nullptr) continue;
    Json arguments = Json::array(), results = Json::array();
    for (const Argument& a : op->schema.arguments()) arguments.push_back(a.name);
    for (std::size_t k = 0; k < op->schema.result_count; ++k)
      results.push_back(op->schema.result_storage[k].name);
    all.push_back({{"op", op->schema.name},
                   {"arguments", std::move(arguments)},
                   {"results", std::move(results)},
                   {"aliases", op->aliases}});
  }
  return all;
}

// Of a function or module of the Python program that started this one, in a process which that program forks.
Finished traced_by_caller(const std::string& socket, std::vector<std::string> files) {
  Finished f;
  try {
    const ForkedProcess tracing = fork_process({"@" + socket, std::move(files), {}}, "--trace");
    char nothing = 0;
    for (ssize_t n = -1; n != 0;) {
      n = recv(tracing.socket.get(), &nothing, 1, 0);
      if (n < 0 && errno != EINTR) break;
    }
  } catch (const std::runtime_error& e) {
    f.err = e.what();
  }
  return f;
}

}  // namespace

TorchGraph graph_of_torch(const TorchProgram& program) {
  const TemporaryFolder folder;
  const std::string operators = folder.file("operators.json"), request = folder.file("request.json"),
                    report = folder.file("report.json");
  write_file(operators, operators_for_torch().dump());
  write_file(request, Json{{"file", program.file},
                           {"member", program.member},
                           {"name", program.name},
                           {"inputs", program.inputs}}
                          .dump());
  const std::string python = torch_python();
  const char* const caller = std::getenv("ASSAY_PYTHON_SOCKET");
  const Finished f =
      caller != nullptr && *caller != 0
          ? traced_by_caller(caller, {operators, request, report})
          : run_program(python, {"-B", data_file("harness/python/graph.py"), operators, request, report});
  const std::string printed = f.out + f.err;
  if (!std::filesystem::exists(report)) {
    if (const Finished needs = run_program(python, {"-c", "import torch"}); needs.status != 0)
      throw NoTorch(fmt::format(
          "tracing needs PyTorch for {} (apt install python3-torch, or pip install torch; or name another interpreter by "
          "ASSAY_TORCH_PYTHON): {}",
          python, needs.err.empty() ? "it cannot be started" : needs.err));
    throw NoTorchGraph(fmt::format("{} ended Python with {}", program.file, f.status), printed);
  }
  const Json said = Json::parse(read_file(report));
  if (said.contains("error")) throw NoTorchGraph(said.at("error").get<std::string>(), printed);
  TorchGraph graph{.json = said.at("graph").dump(2),
                   .notes = said.at("notes").get<std::vector<std::string>>(),
                   .printed = printed};
  try {
    for (const std::string& text : graphs_of_json(graph.json)) parse_graph(text);
  } catch (const GraphError& e) {
    throw NoTorchGraph(fmt::format("{} was traced to what is no graph: {}", program.file, e.what()), printed);
  }
  return graph;
}

}  // namespace assay
