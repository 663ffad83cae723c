// Which shapes go together, as a pattern: the one source of an operator's generated shapes, its argument check and
// the shapes of its results.
//
//   rule        = alternative {";" alternative}
//   alternative = {argument "=" (pattern | size | "true" | "false")} "->" pattern {"," pattern}
//   pattern     = "[" [dim {"," dim}] "]" ["~"]
//   dim         = symbol | number | symbol "*" symbol | run | window | "1" run | function "(" operand {"," operand} ")"
//   run         = "*" [symbol] | "+" [symbol]
//   window      = run "<" [symbol] | symbol "<" (symbol | number)
//   size        = symbol ["*" symbol] | "|" run "|"
//
// A symbol (N, C, K) is one size, the same everywhere in the alternative. A run is any number of dimensions, the same
// everywhere: "*" and "*M" are two of them, and "+M" is *M that has at least one dimension; "1*M" is a 1 for each of its
// dimensions. A window "*R<S" is a run of as many dimensions as the run *S before it; cases are made with sizes that
// mostly fit into those of *S; "R<S" is one size in another. A product "G*C" is a multiple of G, which an int argument
// says ("groups=G"). "~" lets a tensor broadcast by NumPy's rule: "[*]~" together with the others of that pattern, "[M,N]~" to
// what the other tensors say that M and N are.
//
// What is no tensor may be bound too: a list of ints by a pattern (its numbers are sizes), an int by a size (a symbol, a
// product that is a dimension of a tensor, or the number of elements of a run), and a bool by its value, for which the
// alternative stands. Patterns are matched in order; where one has two runs, one of them is known by then.
//
// Dimensions of results may be computed: see shape_function.h for the functions, whose operands are runs, symbols and
// arguments. So may those of a tensor argument, whose shape then says nothing of the others.
//
//   self=[N,C,*] weight=[C] -> [N,C,*]; self=[*] weight=[1] -> [*]
//   normalized_shape=[+M] input=[*,*M] weight=[*M] bias=[*M] -> [*,*M], [*,1*M], [*,1*M]
//   self=[*] -> [reduced(*,dim,keepdim)]
//   groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] -> [N,G*K,convolved(*S,*R)]
//   N=N C=G*K HxW=|*| group=G input=[N,G*K,*] weight=[G*K] -> [N,G*K,*], [N,G]
//   groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] grad_output=[N,G*K,convolved(*S,*R)] -> [N,G*C,*S]
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operator.h"
#include "shape.h"

namespace assay {

struct DimPattern {
  enum class Kind : std::uint8_t { symbol, number, product, run, ones, computed } kind;
  std::string name;  // of the symbol; of the product's first one; of the run, "" for "*"; of the function
  std::int64_t number = 0;
  bool some = false;  // of a run written with "+"
  std::vector<std::string>
      operands{};  // of a function; the product's second symbol; of a window, the run or the size it lies in

  bool is_window() const { return kind == Kind::run && !operands.empty(); }
};

struct ShapePattern {
  int argument = -1;  // position in the schema; -1 for results
  std::vector<DimPattern> dims;
  bool broadcast = false;

  bool broadcasts_to_symbols() const {
    return broadcast && !(dims.size() == 1 && dims[0].kind == DimPattern::Kind::run);
  }
  bool computed() const;  // some of its dimensions are
};

// The sizes that symbols and runs stand for.
struct ShapeBinding {
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, Shape> runs;  // "*" is runs[""]
};

// An int argument that is a size, or the product of two sizes or of those of a run; a bool argument that is a fixed value.
// Of sizes, which a file may have given; what no std::int64_t holds is the largest, which no tensor has.
std::int64_t product_of_sizes(std::int64_t a, std::int64_t b);

struct BoundNumber {
  int argument = -1;
  DimPattern size;  // symbol, product or run
  std::int64_t value(const ShapeBinding& binding) const;
};
struct BoundFlag {
  int argument = -1;
  bool value = false;
};

struct ShapeAlternative {
  std::vector<ShapePattern> inputs;  // of tensors and lists of ints
  std::vector<BoundNumber> numbers;
  std::vector<BoundFlag> flags;
  std::vector<ShapePattern> outputs;

  std::vector<std::string> symbols() const;  // in order of first use
  std::vector<std::string> runs() const;     // in order of first use
  bool some(const std::string& run) const;   // has at least one dimension
  const std::string* window_in(
      const std::string& run) const;  // the run in which this one is a window, or nullptr
  // Sizes that are windows, each with the symbol or the number in which it lies.
  std::vector<std::pair<std::string, std::string>> windows_of_sizes() const;
  const ShapePattern* pattern_of(std::size_t argument) const;
  // Whether the alternative says what the value of this argument is, which is no tensor.
  bool binds(std::size_t argument) const;
};

// Precondition: the binding knows all that the pattern names, and nothing in it is computed.
Shape instantiate(const ShapePattern& pattern, const ShapeBinding& binding);

struct ShapeRule {
  std::vector<ShapeAlternative> alternatives;
};

// Parsed once for each operator. Throws std::invalid_argument when the rule is malformed or names no argument.
const ShapeRule& shape_rule(const Operator& op);

struct ShapeMatch {
  std::string error;     // empty if it matched; else names the argument, its value and what it should be
  int argument = -1;     // the argument to blame
  int alternative = -1;  // which alternative of the rule matched, and what its symbols and runs stand for
  ShapeBinding binding;
};
// Of the arguments' shapes, and of what else the rule binds. Precondition: they are of the kinds the schema says.
ShapeMatch match_shapes(const Operator& op, std::span<const assay_value> arguments);

struct ResultShapes {
  std::vector<Shape> shapes;
  std::vector<std::pair<int, Shape>> arguments;  // tensors whose shape is computed, and what it must be
  std::string error;                             // as in ShapeMatch
  int argument = -1;
};
// Precondition: the match is without error, and the other arguments are within their domains.
ResultShapes result_shapes(const Operator& op, const ShapeMatch& match,
                           std::span<const assay_value> arguments);

}  // namespace assay
