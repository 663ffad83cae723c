#include "graph_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "graph_reader.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr std::size_t kMostNodes = 1'000;  // each of which may be read while the one after it is read
constexpr int kMostNested = 200;           // parentheses in parentheses

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
      if (name != "_" && is_literal_word(name))
        read_.fail(fmt::format("\"{}\" is a literal, and no name", name));
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
      if (e.literal)
        return {.literal = e.literal->starts_with('-') ? e.literal->substr(1) : "-" + *e.literal};
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
        read_.fail(written.empty() ? fmt::format("{} has {} arguments, not {}: {}", name,
                                                 schema.argument_count, given.size(), schema.text)
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
    const bool same =
        own.type == a.type ||
        (a.type == Type::scalar && own.type != Type::string && own.type != Type::dtype && !own.is_tensor()) ||
        (a.type == Type::real && own.type == Type::integer);
    if (!same || own.list != a.list || (own.optional && !a.optional))
      read_.fail(
          fmt::format("{} of {} is of another type than {}, {}", a.name, of, own.name, schema_type(own)));
    return e.value;
  }

  static std::string_view schema_type(const Argument& a) {
    constexpr std::string_view names[] = {"Tensor", "Scalar", "int",        "float",
                                          "bool",   "str",    "ScalarType", "MemoryFormat"};
    return names[static_cast<std::size_t>(a.type)];
  }

  // As a tensor: a value, or a number.
  GraphValue tensor(const Expression& e, std::string_view use) {
    if (e.is_list) read_.fail(fmt::format("{} is a list, where a tensor is expected", use));
    if (!e.literal) {
      if (e.value.from != From::argument) return e.value;
      const Argument& own = graph_.op.schema.argument_storage[e.value.index];
      if (own.list || (!own.is_tensor() && own.type != Type::scalar && own.type != Type::real &&
                       own.type != Type::integer))
        read_.fail(fmt::format("{} is {}, where a tensor is expected", use, own.name));
      return e.value;
    }
    try {
      return {.from = From::number,
              .literal = parse_argument(*e.literal, {.name = use, .type = Type::scalar})};
    } catch (const CaseError&) {
      read_.fail(fmt::format("\"{}\" is no name of the graph, and no number", *e.literal));
    }
  }

  void check_result(const GraphValue& v) {
    if (v.from != From::node || v.index >= graph_.nodes.size()) return;
    const Schema& schema = graph_.nodes[v.index].schema();
    if (schema.result_count == 1 && schema.result_storage[0].list) return;  // as many as there are
    if (v.result >= schema.result_count)
      read_.fail(fmt::format("{} has {} result{}", schema.base, schema.result_count,
                             schema.result_count == 1 ? "" : "s"));
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
      all += fmt::format(
          "{}{} (line {}){}", all.empty() ? "" : ", ", name, fmt::join(lines, ", "),
          nearest_operator(name).empty() ? "" : fmt::format(", perhaps {}", nearest_operator(name)));
    throw GraphError(
        fmt::format("{} needs operators that Assay does not have: {}", graph_.op.schema.name, all));
  }

  Graph& graph_;
  GraphReader read_;
  std::map<std::string, GraphValue> names_;
  std::map<std::string, std::string> literals_;
  std::map<std::string, std::size_t> used_;  // names of nodes
  std::map<std::string, std::vector<std::size_t>> missing_;
  int nested_ = 0;
};

}  // namespace

bool is_literal_word(std::string_view word) {
  constexpr std::string_view all[] = {"_",    "return", "none",  "None", "true",
                                      "True", "false",  "False", "inf",  "nan"};
  return std::ranges::find(all, word) != std::end(all) || dtype_named(word) ||
         std::ranges::find(kMemoryFormats, word) != kMemoryFormats.end();
}

void parse_body(Graph& graph, std::string_view body, std::span<const std::size_t> lines) {
  GraphParser(graph, body, lines).parse();
}

}  // namespace assay
