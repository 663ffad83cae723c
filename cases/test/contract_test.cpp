#include "vocabulary/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Contract, EmptyIsStrict) {
  const Contract c = parse_contract("", Dtype::bf16);
  EXPECT_EQ(text(c), "strict");
  EXPECT_EQ(c.compute_format(Dtype::bf16).precision, 24);  // half formats are computed in f32
  EXPECT_EQ(c.compute_format(Dtype::f64).precision, 53);
  EXPECT_TRUE(c.deterministic && c.signed_zero && c.nonfinite);
  EXPECT_EQ(c.accuracy[0].ulp, 0.5);
}

TEST(Contract, ClausesApplyToTheirDtypes) {
  const std::string_view text = "bf16,f16: compute=bf16 -- a.cpp:1\nexp=2ulp erf=4e-7abs -- b.cpp:2\n";
  const Contract half = parse_contract(text, Dtype::bf16);
  EXPECT_EQ(half.compute, Dtype::bf16);
  EXPECT_EQ(half.accumulate_format(Dtype::bf16).precision, 8);
  EXPECT_EQ(half.accuracy[static_cast<int>(Function::exp)].ulp, 2);
  EXPECT_EQ(half.accuracy[static_cast<int>(Function::erf)].absolute, 4e-7);
  EXPECT_EQ(half.accuracy[static_cast<int>(Function::erf)].ulp, 0.5);
  EXPECT_EQ(assay::text(half), "compute=bf16 exp=2ulp erf=4e-7abs");
  EXPECT_EQ(half.stated[0].source, "a.cpp:1");
  EXPECT_FALSE(parse_contract(text, Dtype::f32).compute.has_value());
}

TEST(Contract, EveryFieldCanBeStated) {
  for (const ContractField& f : contract_fields()) {
    std::string value(f.values);
    if (value.find('|') != std::string::npos) {
      value = value.substr(0, value.find(' '));
      if (value == "Nulp") value = "3ulp";
    } else {
      value = value == "a float dtype" ? "f16" : "64";
    }
    EXPECT_NO_THROW(parse_contract(std::string(f.name) + "=" + value + " -- here", Dtype::f32))
        << f.name << "=" << value;
  }
}

TEST(Contract, StrictStatesNothing) {
  for (const char* clause : {"strict", "strict -- here", "f32: strict", "f32: strict -- here\nbf16: strict"})
    EXPECT_EQ(text(parse_contract(clause, Dtype::f32)), "strict") << clause;
  EXPECT_EQ(text(parse_contract("f64: exp=2ulp -- a\nf32: strict", Dtype::f64)), "exp=2ulp");
  EXPECT_THAT([] { parse_contract("strictly exp=2ulp -- here", Dtype::f32); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("\"strictly\" is not field=value, nor strict")));
  EXPECT_EQ(text(parse_contract("strict exp=2ulp -- here", Dtype::f32)), "exp=2ulp");
}

TEST(Contract, WhatIsNotStrictNeedsASource) {
  EXPECT_THAT([] { parse_contract("ftz=yes", Dtype::f32); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("ftz has no source")));
}

TEST(Contract, ErrorsNameClauseAndField) {
  const auto error = [](std::string_view text, std::string_view part) {
    EXPECT_THAT([&] { parse_contract(text, Dtype::f32); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(std::string(part))))
        << text;
  };
  error("exp=fast -- x", "exp: \"fast\" is not like 2ulp");
  error("exp=infulp -- x", "exp: \"inf\" is not a number >= 0");
  error("nonsense=1 -- x", "no field \"nonsense\"");
  error("f23: ftz=yes -- x", "\"f23\" is not a dtype");
  error("ftz=maybe -- x", "ftz: \"maybe\" is neither yes nor no");
  error("compute=i32 -- x", "not a floating-point dtype");
  error("chain=blocked(0) -- x", "at least one term");
  error("alignment=48 -- x", "power of two");
  error("f64: exp=x -- y", "exp");  // a clause for another dtype is checked too
  error("ftz -- x", "not field=value");
}

TEST(Contract, LaterClausesOverride) {
  const std::string declared =
      "f32: exp=2ulp chain=blocked(8) alignment=64 -- a\nnonfinite=unspecified row_invariant=no -- b";
  const auto by = [&](const char* fields, Dtype d = Dtype::f32) {
    return parse_contract(overridden(declared, fields), d);
  };
  EXPECT_EQ(overridden(declared, ""), declared);
  EXPECT_EQ(text(by("chain=partial(16)")),
            "exp=2ulp alignment=64 nonfinite=unspecified row_invariant=no chain=partial(16)");
  EXPECT_EQ(by("chain=any").chain.kind, Chain::Kind::any);
  EXPECT_EQ(by("chain=any").stated.back().source, "--contract");
  EXPECT_EQ(by("f64: nonfinite=propagate").nonfinite, false);
  EXPECT_EQ(by("f64: nonfinite=propagate", Dtype::f64).nonfinite, true);
  // How it is called says nothing about its numbers.
  EXPECT_EQ(text(by("strict")), "alignment=64");
  EXPECT_TRUE(same_arithmetic(by("strict"), Contract{}));
  EXPECT_TRUE(by("strict").row_invariant);
  EXPECT_EQ(text(by("strict chain=partial(16)")), "alignment=64 chain=partial(16)");
  EXPECT_EQ(text(by("f64: strict")), text(by("")));
  EXPECT_THROW(by("strict=yes"), std::invalid_argument);
}

TEST(Contract, AdditionsRoundOrCutOff) {
  EXPECT_EQ(parse_contract("", Dtype::f32).cut_off, CutOff{});
  EXPECT_EQ(parse_contract("addition=cut_off(16) -- x", Dtype::f32).cut_off, CutOff{16});
  EXPECT_EQ(parse_contract("f16: addition=cut_off(16) -- x", Dtype::f32).cut_off, CutOff{});
  EXPECT_EQ(parse_contract("addition=cut_off(16) -- x\naddition=nearest -- y", Dtype::f32).cut_off, CutOff{});
  EXPECT_FALSE(same_arithmetic(parse_contract("addition=cut_off(16) -- x", Dtype::f32), Contract{}));
  EXPECT_THROW(parse_contract("addition=cut_off(0) -- x", Dtype::f32), std::invalid_argument);
  EXPECT_THROW(parse_contract("addition=cut_off -- x", Dtype::f32), std::invalid_argument);
}

TEST(Chain, CountsAdditions) {
  EXPECT_EQ(Chain{}.additions(100), 99);
  EXPECT_EQ((Chain{Chain::Kind::blocked, 8}.additions(100)), 13 + 8);
  EXPECT_EQ((Chain{Chain::Kind::pairwise, 8}.additions(128)), 8 + 4 + 1);
  EXPECT_EQ((Chain{Chain::Kind::pairwise, 128}.additions(5)), 4);
  EXPECT_EQ((Chain{Chain::Kind::partial, 16}.additions(4096)), 256 + 16);
  EXPECT_EQ((Chain{Chain::Kind::partial, 16}.additions(10)), 9);
  EXPECT_EQ((Chain{Chain::Kind::partial, 16}.block_of(4095)), 256u);
  EXPECT_EQ((Chain{Chain::Kind::blocked, 8}.block_of(100)), 8u);
  EXPECT_EQ(Chain{}.block_of(100), 100u);
  EXPECT_EQ(Chain{}.additions(0), 0);
}

}  // namespace
}  // namespace assay
