#include "contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

namespace assay {
namespace {

constexpr std::string_view kStrict = "strict";
constexpr std::string_view kOfCommandLine =
    " -- --contract";  // the source of a clause that is nobody's declaration

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// The text up to the separator; `rest` becomes what follows it.
std::string_view cut(std::string_view& rest, std::string_view separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + separator.size());
  return head;
}

template <class T>
T number(std::string_view s) {
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size() || !(value >= 0) ||
      value > std::numeric_limits<T>::max())
    throw std::invalid_argument(fmt::format("\"{}\" is not a number >= 0", s));
  return value;
}

bool choice(std::string_view s, std::string_view yes, std::string_view no) {
  if (s == yes) return true;
  if (s == no) return false;
  throw std::invalid_argument(fmt::format("\"{}\" is neither {} nor {}", s, yes, no));
}

Dtype float_dtype(std::string_view s) {
  const std::optional<Dtype> d = dtype_named(s);
  if (!d || !is_float(*d))
    throw std::invalid_argument(fmt::format("\"{}\" is not a floating-point dtype", s));
  return *d;
}

Chain chain(std::string_view s) {
  if (s == "any") return {};
  for (const auto& [name, kind] : {std::pair{"blocked(", Chain::Kind::blocked},
                                   {"pairwise(", Chain::Kind::pairwise},
                                   {"partial(", Chain::Kind::partial}}) {
    if (!s.starts_with(name) || !s.ends_with(')')) continue;
    s.remove_prefix(std::string_view(name).size());
    const auto block = number<std::int64_t>(s.substr(0, s.size() - 1));
    if (block < 1)
      throw std::invalid_argument(kind == Chain::Kind::partial ? "there is at least one partial sum"
                                                               : "a block has at least one term");
    return {kind, block};
  }
  throw std::invalid_argument(fmt::format("\"{}\" is not any, blocked(B), pairwise(B) or partial(P)", s));
}

CutOff cut_off(std::string_view s) {
  const std::string_view whole = s;
  if (s == "nearest") return {};
  constexpr std::string_view kName = "cut_off(";
  if (s.starts_with(kName) && s.ends_with(')')) {
    s.remove_prefix(kName.size());
    const auto n = number<std::int64_t>(s.substr(0, s.size() - 1));
    if (n < 1) throw std::invalid_argument("a step adds at least one term");
    return {n};
  }
  throw std::invalid_argument(fmt::format("\"{}\" is not nearest or cut_off(N)", whole));
}

Accuracy accuracy(std::string_view s) {
  Accuracy a{0, 0};
  const std::string_view whole = s;
  while (!s.empty()) {
    const std::string_view part = cut(s, "+");
    if (part.ends_with("ulp"))
      a.ulp = number<double>(part.substr(0, part.size() - 3));
    else if (part.ends_with("abs"))
      a.absolute = number<double>(part.substr(0, part.size() - 3));
    else
      throw std::invalid_argument(fmt::format("\"{}\" is not like 2ulp, 4e-7abs or 1ulp+1e-9abs", whole));
  }
  // Nothing rounds better than correctly.
  a.ulp = std::max(a.ulp, 0.5);
  return a;
}

struct Field {
  ContractField about;
  std::function<void(Contract&, std::string_view)> set;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> f{
        {{"compute", "a float dtype", "every operation is rounded to this format"},
         [](Contract& c, std::string_view v) { c.compute = float_dtype(v); }},
        {{"accumulate", "a float dtype", "partial sums are kept in this format"},
         [](Contract& c, std::string_view v) { c.accumulate = float_dtype(v); }},
        {{"multiply", "a float dtype", "operands of products are rounded to this format first"},
         [](Contract& c, std::string_view v) { c.multiply = float_dtype(v); }},
        {{"operands", "converted | wide",
          "wide: what an operator converts to f16 or bf16 first may be read in f32, not rounded to that"},
         [](Contract& c, std::string_view v) { c.wide_operands = choice(v, "wide", "converted"); }},
        {{"store", "nearest | faithful", "faithful: the result is one of the two neighbours"},
         [](Contract& c, std::string_view v) { c.faithful_store = choice(v, "faithful", "nearest"); }},
        {{"chain", "any | blocked(B) | pairwise(B) | partial(P)",
          "how many additions a term of a sum passes through at most"},
         [](Contract& c, std::string_view v) { c.chain = chain(v); }},
        {{"addition", "nearest | cut_off(N)",
          "cut_off: sums take N terms a step, each cut off below the largest one's bits, and their sum cut off too, as tensor cores do"},
         [](Contract& c, std::string_view v) { c.cut_off = cut_off(v); }},
        {{"div", "number",
          "unit roundoffs a division takes beyond the correct rounding; none where the divisor is a power of two"},
         [](Contract& c, std::string_view v) { c.div_extra = number<double>(v); }},
        {{"sqrt", "number", "unit roundoffs a square root takes beyond the correct rounding"},
         [](Contract& c, std::string_view v) { c.sqrt_extra = number<double>(v); }},
        {{"ftz", "yes | no", "subnormal results may be zero"},
         [](Contract& c, std::string_view v) { c.ftz = choice(v, "yes", "no"); }},
        {{"daz", "yes | no", "subnormal inputs may be read as zero"},
         [](Contract& c, std::string_view v) { c.daz = choice(v, "yes", "no"); }},
        {{"tiny", "number", "with ftz: elementary functions below this may be zero"},
         [](Contract& c, std::string_view v) { c.tiny = number<double>(v); }},
        {{"signed_zero", "strict | ignore", "ignore: the sign of a zero result means nothing"},
         [](Contract& c, std::string_view v) { c.signed_zero = choice(v, "strict", "ignore"); }},
        {{"nonfinite", "propagate | unspecified", "unspecified: NaN and infinite inputs may give anything"},
         [](Contract& c, std::string_view v) { c.nonfinite = choice(v, "propagate", "unspecified"); }},
        {{"tie", "first | any", "any: of equal candidates any index may be returned"},
         [](Contract& c, std::string_view v) { c.first_tie = choice(v, "first", "any"); }},
        {{"deterministic", "yes | no", "no: bits may differ between runs and alignments"},
         [](Contract& c, std::string_view v) { c.deterministic = choice(v, "yes", "no"); }},
        {{"layout_invariant", "yes | no", "no: bits may depend on strides"},
         [](Contract& c, std::string_view v) { c.layout_invariant = choice(v, "yes", "no"); }},
        {{"row_invariant", "yes | no", "no: the bits of a row may depend on how many other rows there are"},
         [](Contract& c, std::string_view v) { c.row_invariant = choice(v, "yes", "no"); }},
        {{"position_invariant", "yes | no",
          "no: the bits of an element of an elementwise operator may depend on where among the others it lies, as where vectors end"},
         [](Contract& c, std::string_view v) { c.position_invariant = choice(v, "yes", "no"); }},
        {{"thread_invariant", "yes | no", "no: bits may depend on the number of threads"},
         [](Contract& c, std::string_view v) { c.thread_invariant = choice(v, "yes", "no"); }},
        {{"in_place", "yes | no",
          "yes: the first result may share the memory of the operator's in-place argument"},
         [](Contract& c, std::string_view v) { c.in_place = choice(v, "yes", "no"); }},
        {{"alignment", "bytes", "buffers must start at a multiple of this"},
         [](Contract& c, std::string_view v) {
           c.alignment = number<std::int64_t>(v);
           if ((c.alignment & (c.alignment - 1)) != 0 || c.alignment > 4096)
             throw std::invalid_argument(fmt::format("\"{}\" is not a power of two up to 4096", v));
         }},
        {{"moments", "two_pass | updating | one_pass",
          "updating: means and variances may be those of parts, merged one into the other, as Welford does; one_pass: of the sums "
          "of x and of x^2"},
         [](Contract& c, std::string_view v) {
           c.moments = v == "one_pass"                     ? MomentsBy::one_pass
                       : choice(v, "updating", "two_pass") ? MomentsBy::updating
                                                           : MomentsBy::two_pass;
         }},
        {{"affine", "direct | folded", "folded: x * scale + shift in place of (x - mean) * scale"},
         [](Contract& c, std::string_view v) { c.folded_affine = choice(v, "folded", "direct"); }},
        {{"form", "defined | rewritten",
          "rewritten: hardswish and hardsigmoid by x / 6 + 1/2, sigmoid and silu by (1 + tanh(x / 2)) / 2, as inference engines have them"},
         [](Contract& c, std::string_view v) { c.rewritten = choice(v, "rewritten", "defined"); }},
        {{"algorithm", "direct | winograd | fft",
          "declared only: results of the last two are judged as direct ones, so that most diverge"},
         [](Contract& c, std::string_view v) {
           if (v == "direct")
             c.algorithm = Algorithm::direct;
           else if (v == "winograd")
             c.algorithm = Algorithm::winograd;
           else if (v == "fft")
             c.algorithm = Algorithm::fft;
           else
             throw std::invalid_argument(fmt::format("\"{}\" is not direct, winograd or fft", v));
         }}};
    for (std::size_t i = 0; i < kFunctions; ++i)
      f.push_back({{kFunctionNames[i], "Nulp | Xabs | Nulp+Xabs", "largest error of this function"},
                   [i](Contract& c, std::string_view v) { c.accuracy[i] = accuracy(v); }});
    return f;
  }();
  return all;
}

// Whether the clause's list of dtypes ("f32,f64") holds the dtype; a list that names something else is an error.
bool applies(std::string_view dtypes, Dtype dtype) {
  bool found = false;
  while (!dtypes.empty()) {
    const std::string_view one = trim(cut(dtypes, ","));
    const std::optional<Dtype> d = dtype_named(one);
    if (!d) throw std::invalid_argument(fmt::format("\"{}\" is not a dtype", one));
    found |= *d == dtype;
  }
  return found;
}

// What says how a kernel is to be called, and nothing about its numbers.
bool is_about_the_call(std::string_view field) { return field == "alignment" || field == "in_place"; }

void take_back(Contract& contract) {
  Contract strict;
  strict.alignment = contract.alignment;
  strict.in_place = contract.in_place;
  strict.stated = std::move(contract.stated);
  std::erase_if(strict.stated, [](const Contract::Stated& s) { return !is_about_the_call(s.field); });
  contract = std::move(strict);
}

void state(Contract& contract, std::string_view field, std::string_view value, std::string_view source) {
  std::erase_if(contract.stated,
                [&](const Contract::Stated& s) { return s.field == field && s.value != value; });
  contract.stated.push_back({std::string(field), std::string(value), std::string(source)});
}

void apply_clause(std::string_view clause, Dtype dtype, Contract& contract) {
  std::string_view rest = clause;
  std::string_view head = cut(rest, " -- ");
  const std::string_view source = trim(rest);
  // A colon in front of the first "=" ends the list of dtypes.
  const std::size_t colon = head.find(':');
  bool here = true;
  if (colon != std::string_view::npos && colon < head.find('=')) {
    here = applies(head.substr(0, colon), dtype);
    head.remove_prefix(colon + 1);
  }
  head = trim(head);
  if (head.empty()) throw std::invalid_argument("no field=value");
  while (!head.empty()) {
    std::string_view value = cut(head, " ");
    head = trim(head);
    if (value == kStrict) {
      if (here) take_back(contract);
      continue;
    }
    if (value.find('=') == std::string_view::npos)
      throw std::invalid_argument(fmt::format("\"{}\" is not field=value, nor strict", value));
    const std::string_view field = cut(value, "=");
    const auto known = std::ranges::find(fields(), field, [](const Field& f) { return f.about.name; });
    if (known == fields().end()) throw std::invalid_argument(fmt::format("there is no field \"{}\"", field));
    Contract scratch;
    try {
      known->set(here ? contract : scratch, value);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(fmt::format("{}: {}", field, e.what()));
    }
    if (source.empty())
      throw std::invalid_argument(fmt::format("{} has no source (write it after \" -- \")", field));
    if (here) state(contract, field, value, source);
  }
}

Dtype strict_compute(Dtype result) {
  switch (result) {
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::f8e4m3:
    case Dtype::f8e5m2:
      return Dtype::f32;
    case Dtype::f64:
      return Dtype::f64;
    default:  // f32, and integers that real numbers are rounded to
      return Dtype::f32;
  }
}

}  // namespace

double Chain::additions(double terms) const {
  const double all = std::max(terms - 1, 0.0);
  const auto b = static_cast<double>(block);
  switch (kind) {
    case Kind::any:
      break;
    case Kind::blocked:
      return std::min(all, std::ceil(terms / b) + b);
    case Kind::pairwise:
      return std::min(all, b + std::ceil(std::log2(std::max(1.0, terms / b))) + 1);
    case Kind::partial:
      return std::min(all, std::ceil(terms / b) + b);
  }
  return all;
}

std::size_t Chain::block_of(std::size_t terms) const {
  const auto b = static_cast<std::size_t>(std::max<std::int64_t>(block, 1));
  if (kind == Kind::any) return std::max<std::size_t>(terms, 1);
  return kind == Kind::partial ? std::max<std::size_t>((terms + b - 1) / b, 1) : b;
}

const Format& Contract::compute_format(Dtype result) const {
  return format(compute.value_or(strict_compute(result)));
}
const Format& Contract::accumulate_format(Dtype result) const {
  return accumulate ? format(*accumulate) : compute_format(result);
}
const Format& Contract::multiply_format(Dtype result) const {
  return multiply ? format(*multiply) : compute_format(result);
}

const std::vector<ContractField>& contract_fields() {
  static const std::vector<ContractField> about = [] {
    std::vector<ContractField> a;
    for (const Field& f : fields()) a.push_back(f.about);
    return a;
  }();
  return about;
}

Contract parse_contract(std::string_view text, Dtype dtype) {
  Contract contract;
  while (!text.empty()) {
    const std::string_view clause = trim(cut(text, "\n"));
    if (clause.empty()) continue;
    try {
      apply_clause(clause, dtype, contract);
    } catch (const std::invalid_argument& e) {
      const std::string_view written =
          clause.ends_with(kOfCommandLine) ? clause.substr(0, clause.size() - kOfCommandLine.size()) : clause;
      throw std::invalid_argument(fmt::format("contract clause \"{}\": {}", written, e.what()));
    }
  }
  return contract;
}

std::string overridden(std::string_view clauses, std::string_view by) {
  std::string all(clauses);
  if (!all.empty() && !by.empty()) all += '\n';
  all += by;
  if (!by.empty() && by.find(" -- ") == std::string_view::npos) all += kOfCommandLine;
  return all;
}

bool same_arithmetic(const Contract& a, const Contract& b) {
  return a.compute == b.compute && a.wide_operands == b.wide_operands && a.accumulate == b.accumulate &&
         a.multiply == b.multiply && a.faithful_store == b.faithful_store && a.chain.kind == b.chain.kind &&
         a.chain.block == b.chain.block && a.cut_off == b.cut_off && a.div_extra == b.div_extra && a.sqrt_extra == b.sqrt_extra &&
         a.ftz == b.ftz && a.daz == b.daz && a.tiny == b.tiny && a.signed_zero == b.signed_zero &&
         a.nonfinite == b.nonfinite && a.first_tie == b.first_tie && a.moments == b.moments &&
         a.folded_affine == b.folded_affine && a.rewritten == b.rewritten &&
         std::ranges::equal(a.accuracy, b.accuracy, [](const Accuracy& x, const Accuracy& y) {
           return x.ulp == y.ulp && x.absolute == y.absolute;
         });
}

std::string text(const Contract& contract) {
  if (contract.stated.empty()) return std::string(kStrict);
  std::string s;
  for (const Contract::Stated& f : contract.stated)
    s += fmt::format("{}{}={}", s.empty() ? "" : " ", f.field, f.value);
  return s;
}

}  // namespace assay
