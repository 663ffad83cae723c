#include "graph_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "graph_calls.h"
#include "graph_reader.h"
#include "vocabulary/domain.h"

namespace assay {
namespace {

constexpr int kMostNested = 200;  // parentheses in parentheses

using Expression = GraphExpression;

class GraphParser {
 public:
  GraphParser(Graph& graph, std::string_view body, std::span<const std::size_t> lines)
      : graph_(graph), read_(body, std::string(graph.op.schema.name), lines), calls_(graph, read_) {
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
    calls_.say_missing();
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
      calls_.rename(e.value.index, std::string(names[0]));
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
      GraphValue v = calls_.tensor(e, "the value");
      if (several) v.result = k;
      calls_.check_result(v);
      if (names[k] != "_") names_[std::string(names[k])] = v;
    }
  }

  void results() {
    do {
      graph_.results.push_back(calls_.tensor(expression(), "a result"));
      calls_.check_result(graph_.results.back());
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
    return calls_.call(name, {{"", a}, {"", b}});
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
      calls_.check_result(e.value);
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
    if (read_.is("(")) return calls_.call(word.text, arguments());
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

  GraphCalls::Given arguments() {
    GraphCalls::Given given;
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

  Graph& graph_;
  GraphReader read_;
  GraphCalls calls_;
  std::map<std::string, GraphValue> names_;
  std::map<std::string, std::string> literals_;
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
