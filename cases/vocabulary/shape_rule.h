// Which shapes go together, as a pattern: the one source of an operator's generated shapes, its argument check and
// the shapes of its results.
//
//   rule        = alternative {";" alternative}
//   alternative = {argument "=" pattern} "->" pattern {"," pattern}
//   pattern     = "[" [dim {"," dim}] "]" ["~"]
//   dim         = symbol | number | "*"
//
// A symbol (N, C, K) is one size, the same everywhere in the alternative; "*" is any number of dimensions, the same
// everywhere; "~" lets a tensor broadcast by NumPy's rule: "[*]~" together with the others of that pattern, "[M,N]~" to
// what the other tensors say that M and N are.
//
//   self=[N,C,*] weight=[C] -> [N,C,*]; self=[*] weight=[1] -> [*]
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operator.h"

namespace assay {

using Shape = std::vector<std::int64_t>;

std::string text(const Shape& shape);  // "2x3x4"; "" for a scalar tensor

struct DimPattern {
  enum class Kind : std::uint8_t { symbol, number, rest } kind;
  std::string symbol;
  std::int64_t number = 0;
};

struct ShapePattern {
  int argument = -1;  // position in the schema; -1 for results
  std::vector<DimPattern> dims;
  bool broadcast = false;

  bool broadcasts_to_symbols() const {
    return broadcast && !(dims.size() == 1 && dims[0].kind == DimPattern::Kind::rest);
  }
};

struct ShapeAlternative {
  std::vector<ShapePattern> inputs;
  std::vector<ShapePattern> outputs;
  std::vector<std::string> symbols() const;  // in order of first use
  bool has_rest() const;
};

// The sizes that symbols stand for.
struct ShapeBinding {
  std::map<std::string, std::int64_t> sizes;
  Shape rest;
};
Shape instantiate(const ShapePattern& pattern, const ShapeBinding& binding);

struct ShapeRule {
  std::vector<ShapeAlternative> alternatives;
};

// Parsed once for each operator. Throws std::invalid_argument when the rule is malformed or names no argument.
const ShapeRule& shape_rule(const Operator& op);

struct ShapeMatch {
  std::vector<Shape> outputs;
  std::string error;     // empty if it matched; else names the argument, its shape and what it should be
  int argument = -1;     // the argument to blame
  int alternative = -1;  // which alternative of the rule matched, and what its symbols and "*" stand for
  ShapeBinding binding;
};
// shapes[i] is the shape of tensor argument i, or nullopt (absent, or not a tensor).
ShapeMatch match_shapes(const Operator& op, std::span<const std::optional<Shape>> shapes);

}  // namespace assay
