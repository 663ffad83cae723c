#include "enrol_graph.h"

namespace assay {
namespace {

using Enrol = const Operator& (*)(std::string_view);
using EnrolWrong = void (*)(const Operator&);
constinit Enrol enroller = nullptr;
constinit EnrolWrong enroller_of_wrong = nullptr;

}  // namespace

GraphsHaveReferences::GraphsHaveReferences(const Operator& (*enrol)(std::string_view),
                                           void (*enrol_wrong)(const Operator&)) {
  enroller = enrol;
  enroller_of_wrong = enrol_wrong;
}

const Operator& enrol_graph_alone(std::string_view text) {
  if (enroller == nullptr) throw GraphError("this program has no references, and knows no graph therefore");
  return enroller(text);
}

void enrol_wrong_graphs(const Operator& op) {
  if (enroller_of_wrong != nullptr) enroller_of_wrong(op);
}

const Operator& enrol_graph(std::string_view text) {
  const Operator& op = enrol_graph_alone(text);
  enrol_wrong_graphs(op);
  return op;
}

}  // namespace assay
