// From the text of a graph to its nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "graph_reader.h"
#include "graph_shapes.h"
#include "graph_text.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"
#include "vocabulary/shape_rule.h"

namespace assay {
namespace {

constexpr std::size_t kMostNodes = 1'000;  // each of which may be read while the one after it is read
constexpr int kMostNested = 200;  // parentheses in parentheses
constexpr int kMostInList = 100;  // of int[2]

// Means the same wherever it stands.
bool is_literal_word(std::string_view word) {
  constexpr std::string_view all[] = {"_", "return", "none", "None", "true", "True", "false", "False", "inf", "nan"};
  return std::ranges::find(all, word) != std::end(all) || dtype_named(word) ||
         std::ranges::find(kMemoryFormats, word) != kMemoryFormats.end();
}

// Something that an expression gives: a value of the graph, or a literal whose type its use decides.
struct Expression {
  GraphValue value{};
  std::optional<std::string> literal{};  // as written: "-1", "[1, 2]", "none", "f32"
  std::vector<Expression> items{};       // of "[x, y]"
  bool is_list = false;
  bool is_last = false;  // of a call: all of its results are meant
};

class GraphParser {
 public:
  GraphParser(Graph& graph, std::string_view body, std::span<const std::size_t> lines)
      : graph_(graph), read_(body, std::string(graph.op.schema.name), lines) {
    for (std::size_t i = 0; i < graph.op.schema.argument_count; ++i)
      names_[std::string(graph.op.schema.argument_storage[i].name)] = {.from = GraphValue::From::argument,
                                                                       .index = i};
  }

  void parse() {
    read_.skip_ends();
    bool ended = false;
    while (!read_.is("}")) {
      if (ended) read_.fail("something stands after the results");
      ended = statement();
      read_.skip_ends();
    }
    read_.next();
    read_.skip_ends();
    if (read_.word().kind != GraphWord::Kind::end)
      read_.fail(fmt::format("\"{}\" stands after the end of the graph", read_.word().text));
    if (!missing_.empty()) say_missing();
    if (!ended) read_.fail("it says no results: the last line is an expression, or return x, y");
  }

 private:
  using From = GraphValue::From;

  // Whether it was the last one, which says the results.
  bool statement() {
    if (read_.word().kind == GraphWord::Kind::name && read_.word().text == "return") {
      read_.next();
      results();
      return true;
    }
    GraphReader before = read_.here();
    std::vector<std::string_view> names;
    while (read_.word().kind == GraphWord::Kind::name) {
      names.push_back(read_.word().text);
      read_.next();
      if (!read_.accept(",")) break;
    }
    if (names.empty() || !read_.is("=")) {
      read_ = before;
      results();
      return true;
    }
    read_.next();
    const std::size_t first = graph_.nodes.size();
    Expression e = expression();
    if (graph_.nodes.size() > first && e.value.from == From::node)
      rename(e.value.index, std::string(names[0]));
    assign(names, e);
    if (read_.word().kind != GraphWord::Kind::line && !read_.is(";") && !read_.is("}"))
      read_.fail(fmt::format("\"{}\" stands after the statement", read_.word().text));
    return false;
  }

  void assign(const std::vector<std::string_view>& names, const Expression& e) {
    const bool several = names.size() > 1;
    if (several && (e.value.from != From::node || !e.is_last))
      read_.fail(fmt::format("{} are the results of one call", fmt::join(names, ", ")));
    for (const std::string_view name : names)
      if (name != "_" && is_literal_word(name)) read_.fail(fmt::format("\"{}\" is a literal, and no name", name));
    if (!several && e.literal) {
      names_.erase(std::string(names[0]));
      literals_[std::string(names[0])] = *e.literal;
      return;
    }
    for (std::size_t k = 0; k < names.size(); ++k) {
      GraphValue v = tensor(e, "the value");
      if (several) v.result = k;
      check_result(v);
      if (names[k] != "_") names_[std::string(names[k])] = v;
    }
  }

  void results() {
    do {
      graph_.results.push_back(tensor(expression(), "a result"));
      check_result(graph_.results.back());
    } while (read_.accept(","));
    if (graph_.results.size() != graph_.op.schema.result_count)
      read_.fail(fmt::format("it has {} result{}, but its schema says {}", graph_.results.size(),
                             graph_.results.size() == 1 ? "" : "s", graph_.op.schema.result_count));
  }

  Expression expression() {
    if (++nested_ > kMostNested) read_.fail("parentheses are nested too deep");
    Expression left = product();
    while (read_.is("+") || read_.is("-")) {
      const bool adds = read_.is("+");
      read_.next();
      left = of_two(adds ? "add.Tensor" : "sub.Tensor", left, product());
    }
    --nested_;
    return left;
  }
  Expression product() {
    Expression left = factor();
    while (read_.is("*") || read_.is("/")) {
      const bool multiplies = read_.is("*");
      read_.next();
      left = of_two(multiplies ? "mul.Tensor" : "div.Tensor", left, factor());
    }
    return left;
  }

  Expression of_two(std::string_view name, const Expression& a, const Expression& b) {
    return call(name, {{"", a}, {"", b}});
  }

  Expression factor() {
    if (read_.accept("-")) {
      if (++nested_ > kMostNested) read_.fail("signs are nested too deep");
      Expression e = factor();
      --nested_;
      if (e.literal) return {.literal = e.literal->starts_with('-') ? e.literal->substr(1) : "-" + *e.literal};
      return of_two("mul.Tensor", e, {.literal = "-1"});
    }
    Expression e = primary();
    while (read_.is("[") && e.value.from == From::node && e.is_last) {
      read_.enter();
      read_.next();
      e.value.result = index();
      e.is_last = false;
      check_result(e.value);
      read_.leave();
      read_.expect("]");
    }
    return e;
  }

  std::size_t index() {
    const std::string_view text = read_.word().text;
    if (read_.word().kind != GraphWord::Kind::number || text.size() > 3 ||
        text.find_first_not_of("0123456789") != std::string_view::npos)
      read_.fail("the number of a result stands in brackets: f(x)[1]");
    std::size_t n = 0;
    for (const char c : text) n = n * 10 + static_cast<std::size_t>(c - '0');
    read_.next();
    return n;
  }

  Expression primary() {
    const GraphWord word = read_.word();
    if (word.kind == GraphWord::Kind::number || word.kind == GraphWord::Kind::text) {
      read_.next();
      return {.literal = std::string(word.text)};
    }
    if (read_.is("(")) {
      read_.enter();
      read_.next();
      Expression e = expression();
      e.is_last = false;
      read_.leave();
      read_.expect(")");
      return e;
    }
    if (read_.is("[")) return list();
    if (word.kind != GraphWord::Kind::name)
      read_.fail(word.kind == GraphWord::Kind::sign ? fmt::format("\"{}\" begins no expression", word.text)
                                                    : "an expression is missing");
    read_.next();
    if (read_.is("(")) return call(word.text, arguments());
    if (const auto known = names_.find(std::string(word.text)); known != names_.end())
      return {.value = known->second};
    if (const auto known = literals_.find(std::string(word.text)); known != literals_.end())
      return {.literal = known->second};
    return {.literal = std::string(word.text)};
  }

  Expression list() {
    Expression e{.is_list = true};
    read_.enter();
    read_.next();
    while (!read_.is("]")) {
      e.items.push_back(expression());
      if (!read_.accept(",")) break;
    }
    read_.leave();
    read_.expect("]");
    if (std::ranges::all_of(e.items, [](const Expression& i) { return i.literal.has_value(); })) {
      std::vector<std::string> texts;
      for (const Expression& i : e.items) texts.push_back(*i.literal);
      e.literal = fmt::format("[{}]", fmt::join(texts, ","));
    }
    return e;
  }

  using Given = std::vector<std::pair<std::string, Expression>>;  // a name, or "" by position

  Given arguments() {
    Given given;
    read_.enter();
    read_.next();
    while (!read_.is(")")) {
      std::string name;
      if (read_.word().kind == GraphWord::Kind::name) {
        GraphReader before = read_.here();
        name = read_.word().text;
        read_.next();
        if (!read_.accept("=")) {
          read_ = before;
          name.clear();
        }
      }
      given.emplace_back(name, expression());
      if (!read_.accept(",")) break;
    }
    read_.leave();
    read_.expect(")");
    return given;
  }

  Expression call(std::string_view name, const Given& given) {
    GraphNode node;
    node.line = read_.line();
    node.movement = find_movement(name);
    if (node.movement == nullptr) node.op = find_spelled(name);
    if (node.op != nullptr && node.op->graph != nullptr)
      read_.fail(fmt::format("{} is a graph itself; write its body here", name));
    Expression result{.value = {.from = From::node, .index = graph_.nodes.size()}, .is_last = true};
    if (node.movement == nullptr && node.op == nullptr) {
      missing_[std::string(name)].push_back(read_.line());
      return result;
    }
    if (graph_.nodes.size() == kMostNodes) read_.fail(fmt::format("it has more than {} nodes", kMostNodes));
    const Schema& schema = node.schema();
    node.arguments.resize(schema.argument_count);
    std::vector<bool> seen(schema.argument_count);
    std::size_t position = 0;
    for (const auto& [written, e] : given) {
      const int at = written.empty() ? static_cast<int>(position++) : schema.find(written);
      if (at < 0 || static_cast<std::size_t>(at) >= schema.argument_count)
        read_.fail(written.empty()
                       ? fmt::format("{} has {} arguments, not {}: {}", name, schema.argument_count, given.size(),
                                     schema.text)
                       : fmt::format("{} has no argument {}: {}", name, written, schema.text));
      const auto i = static_cast<std::size_t>(at);
      if (seen[i]) read_.fail(fmt::format("{} is given {} twice", name, schema.argument_storage[i].name));
      seen[i] = true;
      node.arguments[i] = argument(schema.argument_storage[i], e, name);
    }
    for (std::size_t i = 0; i < schema.argument_count; ++i) {
      const Argument& a = schema.argument_storage[i];
      if (seen[i]) continue;
      if (!a.has_default) read_.fail(fmt::format("{} lacks {}: {}", name, a.name, schema.text));
      node.arguments[i] = literal(default_value(a));
    }
    const std::string base(schema.base);
    std::size_t& count = used_[base];
    node.name = count == 0 ? base : fmt::format("{}_{}", base, count);
    ++count;
    graph_.nodes.push_back(std::move(node));
    return result;
  }

  static GraphValue literal(CaseValue v) {
    if (std::holds_alternative<None>(v)) return {};
    return {.from = From::literal, .literal = std::move(v)};
  }

  GraphValue argument(const Argument& a, const Expression& e, std::string_view of) {
    if (a.is_tensor() && a.list) {
      if (!e.is_list) read_.fail(fmt::format("{} of {} is a list of tensors: [x, y]", a.name, of));
      GraphValue list{.from = From::list};
      for (const Expression& item : e.items) list.items.push_back(tensor(item, a.name));
      return list;
    }
    if (a.is_tensor()) {
      if (e.literal && (*e.literal == "none" || *e.literal == "None")) {
        if (!a.optional) read_.fail(fmt::format("{} of {} may not be None", a.name, of));
        return {};
      }
      return tensor(e, a.name);
    }
    if (e.literal) {
      try {
        return literal(parse_argument(*e.literal, a));
      } catch (const CaseError& error) {
        read_.fail(fmt::format("{}: {}", of, error.what()));
      }
    }
    if (e.value.from != From::argument || e.is_list)
      read_.fail(fmt::format("{} of {} is written out, or an argument of the graph", a.name, of));
    const Argument& own = graph_.op.schema.argument_storage[e.value.index];
    const bool same = own.type == a.type || (a.type == Type::scalar && own.type != Type::string &&
                                             own.type != Type::dtype && !own.is_tensor()) ||
                      (a.type == Type::real && own.type == Type::integer);
    if (!same || own.list != a.list || (own.optional && !a.optional))
      read_.fail(fmt::format("{} of {} is of another type than {}, {}", a.name, of, own.name, schema_type(own)));
    return e.value;
  }

  static std::string_view schema_type(const Argument& a) {
    constexpr std::string_view names[] = {"Tensor", "Scalar", "int", "float", "bool", "str", "ScalarType", "MemoryFormat"};
    return names[static_cast<std::size_t>(a.type)];
  }

  // As a tensor: a value, or a number.
  GraphValue tensor(const Expression& e, std::string_view use) {
    if (e.is_list) read_.fail(fmt::format("{} is a list, where a tensor is expected", use));
    if (!e.literal) {
      if (e.value.from != From::argument) return e.value;
      const Argument& own = graph_.op.schema.argument_storage[e.value.index];
      if (own.list || (!own.is_tensor() && own.type != Type::scalar && own.type != Type::real && own.type != Type::integer))
        read_.fail(fmt::format("{} is {}, where a tensor is expected", use, own.name));
      return e.value;
    }
    try {
      return {.from = From::number, .literal = parse_argument(*e.literal, {.name = use, .type = Type::scalar})};
    } catch (const CaseError&) {
      read_.fail(fmt::format("\"{}\" is no name of the graph, and no number", *e.literal));
    }
  }

  void check_result(const GraphValue& v) {
    if (v.from != From::node || v.index >= graph_.nodes.size()) return;
    const Schema& schema = graph_.nodes[v.index].schema();
    if (schema.result_count == 1 && schema.result_storage[0].list) return;  // as many as there are
    if (v.result >= schema.result_count)
      read_.fail(fmt::format("{} has {} result{}", schema.base, schema.result_count, schema.result_count == 1 ? "" : "s"));
  }

  void rename(std::size_t node, const std::string& name) {
    if (node >= graph_.nodes.size() || name == "_") return;
    GraphNode& n = graph_.nodes[node];
    std::size_t& count = used_[name];
    n.name = count == 0 ? name : fmt::format("{}_{}", name, count);
    ++count;
  }

  void say_missing() const {
    std::string all;
    for (const auto& [name, lines] : missing_)
      all += fmt::format("{}{} (line {}){}", all.empty() ? "" : ", ", name, fmt::join(lines, ", "),
                         nearest_operator(name).empty() ? "" : fmt::format(", perhaps {}", nearest_operator(name)));
    throw GraphError(fmt::format("{} needs operators that Assay does not have: {}", graph_.op.schema.name, all));
  }

  Graph& graph_;
  GraphReader read_;
  std::map<std::string, GraphValue> names_;
  std::map<std::string, std::string> literals_;
  std::map<std::string, std::size_t> used_;  // names of nodes
  std::map<std::string, std::vector<std::size_t>> missing_;
  int nested_ = 0;
};

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
  int depth = 0;  // parentheses of the schema, within which a line ends nothing, nor before its arrow
  std::size_t line = 1;
  const auto add = [&](char c, std::size_t at) {
    if (s.empty() || s.back() == '\n') normal.lines.push_back(at);
    s += c;
  };
  for (char c : given) {
    const std::size_t at = line;
    if (c == '\n') ++line;
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
    if (c == '\n' && !in_body && (depth > 0 || !has_arrow)) c = ' ';
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
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, space), value = trimmed(line.substr(space));
    if (key == "shapes" && graph.op.shapes.empty())
      graph.op.shapes = value;
    else if (key == "domains" && graph.op.domains.empty())
      graph.op.domains = value;
    else
      throw GraphError(fmt::format("{}: \"{}\": between schema and body may stand one line \"shapes ...\" and one \"domains ...\"",
                                   graph.op.schema.name, line));
  }
}

void check_schema(const Schema& schema) {
  const auto fail = [&](const std::string& what) { throw GraphError(fmt::format("{}: {}", schema.name, what)); };
  const auto is_name = [](std::string_view s) {
    return !s.empty() && std::isdigit(static_cast<unsigned char>(s[0])) == 0 &&
           std::ranges::all_of(s, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  };
  if (!is_name(schema.ns) || !is_name(schema.base)) fail("a graph is called as an operator is: assay::swiglu");
  for (std::size_t i = 0; i < schema.argument_count; ++i) {
    const Argument& a = schema.argument_storage[i];
    if (!is_name(a.name) || is_literal_word(a.name)) fail(fmt::format("an argument cannot be called {}", a.name));
    if (schema.find(a.name) != static_cast<int>(i)) fail(fmt::format("two arguments are called {}", a.name));
    if (a.written) fail(fmt::format("{} is written to, but a graph writes its results only", a.name));
    if (a.list_size > kMostInList) fail(fmt::format("{} has more than {} numbers", a.name, kMostInList));
    if (a.is_tensor() && (a.list || a.optional))
      fail(fmt::format("{} is {}, which a graph cannot take: leave it out, or give each tensor a name", a.name,
                       a.list ? "a list of tensors" : "an optional tensor"));
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

void fill(Graph& graph, std::string_view text, std::span<const std::size_t> lines, std::deque<std::string>& texts) {
  graph.text = text;
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos)
    throw GraphError(fmt::format("\"{}\" is no graph: after the schema comes a body in braces", text));
  const std::string_view head = text.substr(0, open);
  std::size_t line = head.find('\n');
  while (line != std::string_view::npos && head.substr(0, line).find("->") == std::string_view::npos)
    line = head.find('\n', line + 1);
  const std::string_view schema = trimmed(head.substr(0, line));
  graph.op.schema = schema_of(texts.emplace_back(schema));  // alone, as C strings: kernels of the operator have them so
  check_schema(graph.op.schema);
  graph.op.formula = trimmed(text.substr(open + 1, text.rfind('}') - open - 1));
  graph.op.source = "its text";
  graph.op.graph = &graph;
  if (line != std::string_view::npos) take_clauses(graph, head.substr(line));
  const auto before = static_cast<std::size_t>(std::ranges::count(head, '\n'));
  GraphParser(graph, text.substr(open + 1), lines.subspan(before)).parse();
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
