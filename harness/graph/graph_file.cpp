#include "graph_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/enrol_graph.h"
#include "reports/file.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kGraphFormat = "assay.graph/1";

// One after the other: each ends with the brace that closes its body.
std::vector<std::string> graphs_in(std::string_view text) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  bool comment = false, has_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') comment = false;
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
      all.emplace_back(text.substr(begin, i + 1 - begin));
      begin = i + 1;
      has_word = false;
    }
  }
  if (has_word) all.emplace_back(text.substr(begin));  // for its error
  return all;
}

// A name or a literal, as a graph's text has it. Nothing else gets into the text.
std::string word_of(const Json& value, const std::string& where) {
  if (value.is_null()) return "none";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  if (value.is_number()) return value.dump();
  if (value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back(word_of(item, where));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (!value.is_string()) throw GraphError(fmt::format("{} is neither a name nor a literal", where));
  const auto text = value.get<std::string>();
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':' || c == '-';
  });
  if (!plain) throw GraphError(fmt::format("{} is \"{}\": names have letters, digits, \"_\" and \".\"", where, text));
  return text;
}

std::string line_of(const Json& json, const char* key) {
  const auto text = json.at(key).get<std::string>();
  if (text.find_first_of("{}\n#") != std::string::npos)
    throw GraphError(fmt::format("{} is \"{}\": braces, \"#\" and line breaks do not belong there", key, text));
  return text;
}

std::string text_of(const Json& json) {
  std::string text = line_of(json, "schema") + "\n";
  for (const char* key : {"shapes", "domains"})
    if (json.contains(key)) text += fmt::format("  {} {}\n", key, line_of(json, key));
  text += "{\n";
  for (const Json& node : json.at("nodes")) {
    const std::string op = word_of(node.at("op"), "op");
    std::vector<std::string> results, arguments;
    for (const Json& r : node.at("results")) results.push_back(word_of(r, fmt::format("a result of {}", op)));
    if (results.empty()) throw GraphError(fmt::format("{} has no results", op));
    for (const auto& [name, value] : node.at("arguments").items())
      arguments.push_back(fmt::format("{}={}", name, word_of(value, fmt::format("{} of {}", name, op))));
    text += fmt::format("  {} = {}({})\n", fmt::join(results, ", "), op, fmt::join(arguments, ", "));
  }
  std::vector<std::string> results;
  for (const Json& r : json.at("results")) results.push_back(word_of(r, "a result"));
  return text + fmt::format("  return {}\n}}", fmt::join(results, ", "));
}

Json json_of(const Graph& graph, const GraphValue& v) {
  using From = GraphValue::From;
  switch (v.from) {
    case From::none:
      return nullptr;
    case From::argument:
      return std::string(graph.op.schema.argument_storage[v.index].name);
    case From::node:
      return fmt::format("r{}_{}", v.index, v.result);
    case From::list: {
      Json list = Json::array();
      for (const GraphValue& item : v.items) list.push_back(json_of(graph, item));
      return list;
    }
    default:
      break;
  }
  if (const auto* n = std::get_if<std::int64_t>(&v.literal)) return *n;
  if (const auto* x = std::get_if<double>(&v.literal)) return *x;
  if (const auto* b = std::get_if<bool>(&v.literal)) return *b;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&v.literal)) return *list;
  if (const auto* list = std::get_if<std::vector<double>>(&v.literal)) return *list;
  return text(v.literal);
}

}  // namespace

std::vector<std::string> graphs_of_json(std::string_view document) {
  try {
    const Json json = Json::parse(document);
    if (json.value("format", "") != kGraphFormat)
      throw GraphError(fmt::format("format is \"{}\", but must be \"{}\"", json.value("format", ""), kGraphFormat));
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
  Json json{{"format", kGraphFormat}, {"schema", graph.op.schema.text}, {"shapes", graph.op.shapes}};
  if (!graph.op.domains.empty()) json["domains"] = graph.op.domains;
  json["nodes"] = Json::array();
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const GraphNode& node = graph.nodes[k];
    const Schema& schema = node.schema();
    Json arguments = Json::object(), results = Json::array();
    for (std::size_t i = 0; i < schema.argument_count; ++i)
      arguments[std::string(schema.argument_storage[i].name)] = json_of(graph, node.arguments[i]);
    std::size_t count = schema.result_count;
    for (const GraphValue& v : graph.results)
      if (v.from == GraphValue::From::node && v.index == k) count = std::max(count, v.result + 1);
    for (const GraphNode& later : graph.nodes)
      for (const GraphValue& v : later.arguments)
        if (v.from == GraphValue::From::node && v.index == k) count = std::max(count, v.result + 1);
    for (std::size_t r = 0; r < count; ++r) results.push_back(fmt::format("r{}_{}", k, r));
    json["nodes"].push_back({{"results", results}, {"op", schema.name}, {"arguments", arguments}});
  }
  json["results"] = Json::array();
  for (const GraphValue& v : graph.results) json["results"].push_back(json_of(graph, v));
  return json.dump(2);
}

std::vector<std::string> read_graphs(const std::string& text_or_file) {
  if (text_or_file.find('{') != std::string::npos) return graphs_in(text_or_file);
  const std::string document = read_file(text_or_file);
  try {
    const std::size_t first = document.find_first_not_of(" \t\r\n");
    const bool is_json = first != std::string::npos && document[first] == '{';
    std::vector<std::string> all = is_json ? graphs_of_json(document) : graphs_in(document);
    if (all.empty()) throw GraphError("there is no graph in it");
    return all;
  } catch (const GraphError& e) {
    throw GraphError(fmt::format("{}: {}", text_or_file, e.what()));
  }
}

std::vector<const Operator*> enrol_graphs(const std::string& text_or_file) {
  const bool is_text = text_or_file.find('{') != std::string::npos;
  std::vector<const Operator*> all;
  for (const std::string& text : read_graphs(text_or_file)) {
    try {
      all.push_back(&enrol_graph(text));
    } catch (const GraphError& e) {
      throw GraphError(is_text ? e.what() : fmt::format("{}: {}", text_or_file, e.what()));
    }
  }
  return all;
}

}  // namespace assay
