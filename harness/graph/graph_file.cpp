#include "graph_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/enrol_graph.h"
#include "graph/graph_check.h"
#include "reports/file.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPassedOn =
    "ASSAY_GRAPHS";  // the environment's variable: texts and files, one after the other
constexpr char kBetween = '\x1e';

constexpr std::string_view kGraphFormat = "assay.graph/1";

constexpr std::size_t kMostGraphs = 1000;  // of a file

struct GraphText {
  std::string text;
  std::size_t lines_before = 0;
};

// One after the other: each ends with the brace that closes its body.
std::vector<GraphText> graphs_in(std::string_view text) {
  std::vector<GraphText> all;
  std::size_t begin = 0, line = 0, begin_line = 0;
  int depth = 0;
  char quote = 0;
  bool comment = false, has_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      comment = false;
      ++line;
    }
    if (comment) continue;
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '#') {
      comment = true;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) has_word = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      if (all.size() == kMostGraphs)
        throw GraphError(fmt::format("there are more than {} graphs", kMostGraphs));
      all.push_back({std::string(text.substr(begin, i + 1 - begin)), begin_line});
      begin = i + 1;
      begin_line = line;
      has_word = false;
    }
  }
  if (has_word) all.push_back({std::string(text.substr(begin)), begin_line});  // for its error
  return all;
}

std::vector<std::string> texts_of(std::vector<GraphText> graphs) {
  std::vector<std::string> all;
  for (GraphText& g : graphs) all.push_back(std::move(g.text));
  return all;
}

// A name, a number that JSON does not have ("-inf"), or a text in quotes of its own.
bool is_word(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2).find_first_of("\"\n") == std::string_view::npos;
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':';
  });
}

// What is copied by a function that calls itself for what lies within.
bool is_nested_deep(std::string_view document) {
  constexpr int kDeepest = 32;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < document.size(); ++i) {
    const char c = document[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

// A name or a literal, as a graph's text has it. Nothing else gets into the text.
std::string word_of(const Json& value, const std::string& where) {
  if (value.is_null()) return "none";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  if (value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value) {
      if (item.is_array()) throw GraphError(fmt::format("{} is a list of lists", where));
      items.push_back(word_of(item, where));
    }
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (!value.is_string()) throw GraphError(fmt::format("{} is neither a name nor a literal", where));
  const auto text = value.get<std::string>();
  if (!is_word(text))
    throw GraphError(fmt::format("{} is \"{}\": names have letters, digits, \"_\" and \".\"", where, text));
  return text;
}

std::string name_of(const Json& value, const std::string& where) {
  if (!value.is_string() || value.get<std::string>().find_first_of("\"-") != std::string::npos)
    throw GraphError(fmt::format("{} is no name", where));
  return word_of(value, where);
}

std::string line_of(const Json& json, const char* key) {
  const auto text = json.at(key).get<std::string>();
  if (text.find_first_of("{}\n#") != std::string::npos)
    throw GraphError(
        fmt::format("{} is \"{}\": braces, \"#\" and line breaks do not belong there", key, text));
  return text;
}

std::string text_of(const Json& json) {
  std::string text = line_of(json, "schema") + "\n";
  for (const char* key : {"shapes", "domains"})
    if (json.contains(key)) text += fmt::format("  {} {}\n", key, line_of(json, key));
  text += "{\n";
  for (const Json& node : json.at("nodes")) {
    const std::string op = name_of(node.at("op"), "op");
    std::vector<std::string> results, arguments;
    for (const Json& r : node.at("results")) results.push_back(name_of(r, fmt::format("a result of {}", op)));
    if (results.empty()) throw GraphError(fmt::format("{} has no results", op));
    for (const auto& [name, value] : node.at("arguments").items())
      arguments.push_back(fmt::format("{}={}",
                                      name_of(name, fmt::format("\"{}\", an argument of {},", name, op)),
                                      word_of(value, fmt::format("{} of {}", name, op))));
    text += fmt::format("  {} = {}({})\n", fmt::join(results, ", "), op, fmt::join(arguments, ", "));
  }
  std::vector<std::string> results;
  for (const Json& r : json.at("results")) results.push_back(word_of(r, "a result"));
  return text + fmt::format("  return {}\n}}", fmt::join(results, ", "));
}

// Of results of nodes: "r3_0" is the first one of node 3. No argument's name begins so.
std::string prefix_of_results(const Graph& graph) {
  std::string prefix = "r";
  while (std::ranges::any_of(graph.op.schema.arguments(),
                             [&](const Argument& a) { return a.name.starts_with(prefix); }))
    prefix += "r";
  return prefix;
}

Json json_of(double x) { return std::isfinite(x) ? Json(x) : Json(text(CaseValue(x))); }

// A text that could be something else gets quotes of its own.
Json json_of(const Graph& graph, const std::string& literal) {
  const bool plain =
      !literal.empty() && graph.op.schema.find(literal) < 0 && std::ranges::all_of(literal, [](char c) {
        return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
      });
  return plain ? literal : fmt::format("\"{}\"", literal);
}

Json json_of(const Graph& graph, const GraphValue& v, const Argument& a, const std::string& prefix) {
  using From = GraphValue::From;
  switch (v.from) {
    case From::none:
      return nullptr;
    case From::argument:
      return std::string(graph.op.schema.argument_storage[v.index].name);
    case From::node:
      return fmt::format("{}{}_{}", prefix, v.index, v.result);
    case From::list: {
      Json list = Json::array();
      for (const GraphValue& item : v.items) list.push_back(json_of(graph, item, a, prefix));
      return list;
    }
    default:
      break;
  }
  if (const auto* n = std::get_if<std::int64_t>(&v.literal)) return *n;
  if (const auto* x = std::get_if<double>(&v.literal)) return json_of(*x);
  if (const auto* b = std::get_if<bool>(&v.literal)) return *b;
  if (const auto* s = std::get_if<std::string>(&v.literal)) return json_of(graph, *s);
  Json list = Json::array();
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&v.literal)) {
    for (const std::int64_t n : *integers) list.push_back(a.type == Type::boolean ? Json(n != 0) : Json(n));
    return list;
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&v.literal)) {
    for (const double x : *reals) list.push_back(json_of(x));
    return list;
  }
  return text(v.literal);
}

// How many results of each node the graph has a use for, and at least those that its schema says.
std::vector<std::size_t> counts_of_results(const Graph& graph) {
  std::vector<std::size_t> counts;
  for (const GraphNode& node : graph.nodes) counts.push_back(node.schema().result_count);
  const auto look = [&](const GraphValue& v, const auto& self) -> void {
    if (v.from == GraphValue::From::node) counts[v.index] = std::max(counts[v.index], v.result + 1);
    for (const GraphValue& item : v.items) self(item, self);
  };
  for (const GraphNode& node : graph.nodes)
    for (const GraphValue& v : node.arguments) look(v, look);
  for (const GraphValue& v : graph.results) look(v, look);
  return counts;
}

}  // namespace

std::vector<std::string> graphs_of_json(std::string_view document) {
  if (is_nested_deep(document)) throw GraphError(fmt::format("no {}: it is nested too deep", kGraphFormat));
  try {
    const Json json = Json::parse(document);
    if (json.value("format", "") != kGraphFormat)
      throw GraphError(
          fmt::format("format is \"{}\", but must be \"{}\"", json.value("format", ""), kGraphFormat));
    std::vector<std::string> all;
    if (json.contains("graphs"))
      for (const Json& graph : json.at("graphs")) all.push_back(text_of(graph));
    else
      all.push_back(text_of(json));
    return all;
  } catch (const Json::exception& e) {
    throw GraphError(fmt::format("no {}: {}", kGraphFormat, e.what()));
  }
}

std::string graph_json(const Graph& graph) {
  const std::string prefix = prefix_of_results(graph);
  const std::vector<std::size_t> counts = counts_of_results(graph);
  Json json{{"format", kGraphFormat}, {"schema", graph.op.schema.text}};
  if (is_said(graph, graph.op.shapes)) json["shapes"] = graph.op.shapes;
  if (is_said(graph, graph.op.domains)) json["domains"] = graph.op.domains;
  json["nodes"] = Json::array();
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const GraphNode& node = graph.nodes[k];
    const Schema& schema = node.schema();
    Json arguments = Json::object(), results = Json::array();
    for (std::size_t i = 0; i < schema.argument_count; ++i) {
      const Argument& a = schema.argument_storage[i];
      arguments[std::string(a.name)] = json_of(graph, node.arguments[i], a, prefix);
    }
    for (std::size_t r = 0; r < counts[k]; ++r) results.push_back(fmt::format("{}{}_{}", prefix, k, r));
    json["nodes"].push_back({{"results", results}, {"op", schema.name}, {"arguments", arguments}});
  }
  json["results"] = Json::array();
  for (const GraphValue& v : graph.results) json["results"].push_back(json_of(graph, v, {}, prefix));
  return json.dump(2);
}

namespace {

bool is_text(const std::string& text_or_file) { return is_graph(text_or_file); }

struct GraphDocument {
  std::vector<GraphText> graphs{};
  bool is_json = false;
};

GraphDocument read_document(const std::string& text_or_file) {
  if (is_text(text_or_file)) return {graphs_in(text_or_file)};
  const std::string document = read_file(text_or_file);
  try {
    const std::size_t first = document.find_first_not_of(" \t\r\n");
    GraphDocument read{.is_json = first != std::string::npos && document[first] == '{'};
    if (read.is_json)
      for (std::string& text : graphs_of_json(document)) read.graphs.push_back({std::move(text)});
    else
      read.graphs = graphs_in(document);
    if (read.graphs.empty()) throw GraphError("there is no graph in it");
    return read;
  } catch (const GraphError& e) {
    throw GraphError(fmt::format("{}: {}", text_or_file, e.what()));
  }
}

}  // namespace

std::vector<std::string> read_graphs(const std::string& text_or_file) {
  return texts_of(read_document(text_or_file).graphs);
}

std::vector<const Operator*> enrol_graphs(const std::string& text_or_file) {
  const GraphDocument read = read_document(text_or_file);
  std::vector<const Operator*> all;
  for (const GraphText& graph : read.graphs) {
    try {
      all.push_back(
          &enrol_graph(std::string(graph.lines_before, '\n') + graph.text));  // errors have the file's lines
    } catch (const GraphError& e) {
      if (is_text(text_or_file)) throw;
      throw GraphError(
          fmt::format("{}: {}{}", text_or_file, e.what(),
                      read.is_json ? fmt::format("\nLines are those of this text:\n{}", graph.text) : ""));
    }
  }
  return all;
}

void pass_graphs_on(const std::string& text_or_file) {
  const char* before = std::getenv(kPassedOn);
  std::string all = before == nullptr ? "" : std::string(before) + kBetween;
  const bool is_text = text_or_file.find('{') != std::string::npos;
  all += is_text ? text_or_file : std::filesystem::absolute(text_or_file).string();
  setenv(kPassedOn, all.c_str(), 1);
}

void take_passed_graphs() {
  const char* passed = std::getenv(kPassedOn);
  std::string_view rest = passed == nullptr ? "" : passed;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    enrol_graphs(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace assay
