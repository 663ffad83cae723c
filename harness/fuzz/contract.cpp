// Contracts: parse_contract() throws std::invalid_argument that quotes the clause, or gives one with finite numbers.
#include "vocabulary/contract.h"

#include <cmath>
#include <stdexcept>

#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> all{
      "f32: exp=2ulp ftz=yes -- src/exp.c, tested over every float\nbf16: compute=bf16 -- src/sum.c:40",
      "f16,bf16: accumulate=f32 chain=blocked(64) tanh=1ulp+1e-9abs -- here",
      "chain=partial(16) alignment=64 moments=updating affine=folded algorithm=winograd -- there",
      "erf=4e-7abs div=1 sqrt=0.5 tiny=1e-38 -- manual"};
  for (const ContractField& f : contract_fields())
    all.push_back(std::string(f.name) + "=" + std::string(f.values.substr(0, f.values.find(' '))) + " -- x");
  return all;
}

void check(const Contract& c) {
  for (const Accuracy& a : c.accuracy)
    if (!std::isfinite(a.ulp) || !std::isfinite(a.absolute) || a.ulp < 0.5 || a.absolute < 0)
      broken("an accuracy is no finite number");
  for (const double x : {c.div_extra, c.sqrt_extra, c.tiny})
    if (!std::isfinite(x) || x < 0) broken("a number is not finite or negative");
  for (const double terms : {0.0, 1.0, 1e9})
    if (const double n = c.chain.additions(terms); !(n >= 0 && n <= terms))
      broken("a chain longer than its sum");
  for (const Contract::Stated& s : c.stated)
    if (s.source.empty()) broken(s.field + " has no source");
}

bool run(std::string_view input) {
  try {
    for (int d = 0; d < kDtypes; ++d) check(parse_contract(input, static_cast<Dtype>(d)));
  } catch (const std::invalid_argument& e) {
    if (std::string_view(e.what()).find("contract clause \"") != 0) broken("an error that quotes no clause");
    return false;
  }
  return true;
}

}  // namespace

const Target kContract{"contract", seeds, run};

}  // namespace assay::fuzz
