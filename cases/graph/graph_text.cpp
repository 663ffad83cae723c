// From the text of a graph to its nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "graph_parser.h"
#include "graph_shapes.h"
#include "graph_text.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"
#include "vocabulary/shape_rule.h"

namespace assay {
namespace {

constexpr int kMostInList = 100;  // of int[2]

// Without comments, and with one space for all that stand between words. The text is its own key.
struct NormalText {
  std::string text{};
  std::vector<std::size_t> lines{};  // of each line, its number in what was given
};

NormalText normalised(std::string_view given) {
  NormalText normal;
  std::string& s = normal.text;
  bool comment = false, has_arrow = false, in_body = false;
  char quote = 0;
  int depth = 0;  // parentheses of the schema, within which a line ends nothing, nor about its arrow
  std::size_t line = 1;
  const auto add = [&](char c, std::size_t at) {
    if (s.empty() || s.back() == '\n') normal.lines.push_back(at);
    s += c;
  };
  for (char c : given) {
    const std::size_t at = line;
    if (c == '\n') ++line;
    if (!comment && c != '\n' && static_cast<unsigned char>(c) > 0x7E)
      throw GraphError(
          fmt::format("line {}: byte {:#04x}: outside comments a graph has characters of ASCII alone", at,
                      static_cast<unsigned char>(c)));
    if (quote != 0) {
      if (c == quote) quote = 0;
      add(c, at);
      continue;
    }
    if (c == '#') comment = true;
    if (c == '\n') comment = false;
    if (comment) continue;
    if (c == '"' || c == '\'') quote = c;
    in_body = in_body || c == '{';
    has_arrow = has_arrow || (c == '>' && s.ends_with('-'));
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '\n' && !in_body && (depth > 0 || !has_arrow || s.ends_with("->") || s.ends_with("-> ")))
      c = ' ';
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (space && (s.empty() || s.back() == ' ' || s.back() == '\n')) continue;
    if (c == '\n' && (s.empty() || s.back() == '\n')) continue;
    if (c == '\n' && s.back() == ' ') s.pop_back();
    add(space ? ' ' : c, at);
  }
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.pop_back();
  return normal;
}

std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \n");
  return first == std::string_view::npos ? "" : s.substr(first, s.find_last_not_of(" \n") + 1 - first);
}

// What stands between the schema and the body: "shapes ..." and "domains ...", each to the end of its line.
void take_clauses(Graph& graph, std::string_view clauses) {
  while (!(clauses = trimmed(clauses)).empty()) {
    const std::size_t end = std::min(clauses.find('\n'), clauses.size());
    const std::string_view line = trimmed(clauses.substr(0, end));
    clauses.remove_prefix(end);
    if (line.find_first_of("}#\"'\\") != std::string_view::npos)
      throw GraphError(
          fmt::format("{}: \"{}\": braces and quotes do not belong there", graph.op.schema.name, line));
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, space), value = trimmed(line.substr(space));
    if (key == "shapes" && graph.op.shapes.empty())
      graph.op.shapes = value;
    else if (key == "domains" && graph.op.domains.empty())
      graph.op.domains = value;
    else
      throw GraphError(fmt::format(
          "{}: \"{}\": between schema and body may stand one line \"shapes ...\" and one \"domains ...\"",
          graph.op.schema.name, line));
  }
}

void check_schema(const Schema& schema) {
  const auto fail = [&](const std::string& what) {
    throw GraphError(fmt::format("{}: {}", schema.name, what));
  };
  const auto is_name = [](std::string_view s) {
    return !s.empty() && std::isdigit(static_cast<unsigned char>(s[0])) == 0 &&
           std::ranges::all_of(
               s, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  };
  if (!is_name(schema.ns) || !is_name(schema.base))
    fail("a graph is called as an operator is: assay::swiglu");
  for (std::size_t i = 0; i < schema.argument_count; ++i) {
    const Argument& a = schema.argument_storage[i];
    if (!is_name(a.name) || is_literal_word(a.name))
      fail(fmt::format("an argument cannot be called {}", a.name));
    if (schema.find(a.name) != static_cast<int>(i)) fail(fmt::format("two arguments are called {}", a.name));
    if (a.written) fail(fmt::format("{} is written to, but a graph writes its results only", a.name));
    if (a.list_size > kMostInList) fail(fmt::format("{} has more than {} numbers", a.name, kMostInList));
    if (a.is_tensor() && (a.list || a.optional))
      fail(fmt::format("{} is {}, which a graph cannot take: leave it out, or give each tensor a name",
                       a.name, a.list ? "a list of tensors" : "an optional tensor"));
    if (!a.has_default) continue;
    try {
      default_value(a);
    } catch (const CaseError& e) {
      fail(e.what());
    }
  }
  if (std::ranges::none_of(schema.arguments(), [](const Argument& a) { return a.is_tensor(); }))
    fail("one of its arguments must be a tensor");
  for (const Argument& r : schema.results())
    if (!r.is_tensor() || r.list || r.optional || r.written) fail("each result of a graph is a Tensor");
}

void fill(Graph& graph, std::string_view text, std::span<const std::size_t> lines,
          std::deque<std::string>& texts) {
  graph.text = text;
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos)
    throw GraphError(fmt::format("\"{}\" is no graph: after the schema comes a body in braces", text));
  const std::string_view head = text.substr(0, open);
  std::size_t line = head.find('\n');
  while (line != std::string_view::npos && head.substr(0, line).find("->") == std::string_view::npos)
    line = head.find('\n', line + 1);
  const std::string_view schema = trimmed(head.substr(0, line));
  graph.op.schema =
      schema_of(texts.emplace_back(schema));  // alone, as C strings: kernels of the operator have them so
  check_schema(graph.op.schema);
  graph.op.formula = trimmed(text.substr(open + 1, text.rfind('}') - open - 1));
  graph.op.source = "its text";
  graph.op.graph = &graph;
  if (line != std::string_view::npos) take_clauses(graph, head.substr(line));
  const auto before = static_cast<std::size_t>(std::ranges::count(head, '\n'));
  parse_body(graph, text.substr(open + 1), lines.subspan(before));
  derive(graph, texts);
}

// What parse_graph() keeps; see graph_text.h.
std::unique_ptr<GraphAlone> read_normal(NormalText normal) {
  auto read = std::make_unique<GraphAlone>();
  read->text = std::move(normal.text);
  fill(read->graph, read->text, normal.lines, read->derived);
  return read;
}

}  // namespace

bool is_graph(std::string_view schema) { return schema.find('{') != std::string_view::npos; }

std::unique_ptr<GraphAlone> read_graph(std::string_view text) { return read_normal(normalised(text)); }

const Graph& parse_graph(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<GraphAlone>, std::less<>> all;
  const std::scoped_lock lock(mutex);
  NormalText normal = normalised(text);
  if (const auto known = all.find(normal.text); known != all.end()) return known->second->graph;
  std::unique_ptr<GraphAlone> graph = read_normal(std::move(normal));
  try {
    for (const Argument& a : graph->graph.op.schema.arguments()) {
      domain(graph->graph.op, a.name);
      ranges(graph->graph.op, a.name);
    }
  } catch (const std::invalid_argument& e) {
    // Parts of it may be remembered already.
    static std::deque<std::unique_ptr<GraphAlone>> wrong;
    wrong.push_back(std::move(graph));
    throw GraphError(e.what());
  }
  return (all[graph->text] = std::move(graph))->graph;
}

}  // namespace assay
