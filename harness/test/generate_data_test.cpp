#include "harness/generate/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "generate_fixture.h"
#include "harness/generate/cases.h"
#include "harness/generate/edge.h"
#include "harness/generate/normal.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using toys::call_of;
using toys::values;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Family& f : families()) all.emplace_back(f.name);
  return all;
}

TEST(GenerateData, EveryGeneratedCaseBecomesACall) {
  toys::each_row([](const Operator& op, Dtype dtype) {
    for (std::uint64_t i = 0; i < effort(150u, 20u); ++i) {
      const Case c = generate(op, dtype, 1, i);
      const Call call = materialise(c);
      ASSERT_TRUE(call.error.empty()) << text(c) << call.error;
      ASSERT_EQ(call.outputs[0].computed_in, dtype);
      ASSERT_EQ(call.output_layouts.size(), op.schema.result_count);
      ASSERT_EQ(call.arguments.size(), c.arguments.size());
      for (std::size_t k = 0; k < c.arguments.size(); ++k) {
        if (const auto* spec = std::get_if<TensorSpec>(&c.arguments[k])) {
          const auto& t = std::get<TensorData>(call.arguments[k]);
          ASSERT_EQ(t.dtype, spec->dtype);
          ASSERT_EQ(t.shape, spec->shape);
        }
      }
    }
  });
}

// Else a kernel that always says "different", or "true", is hardly told from a right one.
TEST(GenerateData, ComparedElementsAreOftenEqualAndOftenZero) {
  for (const char* name : {"eq.Tensor", "eq.Scalar", "logical_or"}) {
    const Operator& op = *find_operator(name);
    std::uint64_t elements = 0, equal = 0, both_zero = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const Case c = generate(op, Dtype::f32, 3, i);
      const Call call = materialise(c);
      const auto& x = std::get<TensorData>(call.arguments[0]);
      const auto* y = std::get_if<TensorData>(&call.arguments[1]);
      if (y != nullptr && (y->shape != x.shape || y->dtype != x.dtype)) continue;
      const auto* real = std::get_if<double>(&c.arguments[1]);
      if (y == nullptr && (real == nullptr || !std::isfinite(*real))) continue;
      for (std::int64_t k = 0; k < std::min<std::int64_t>(x.numel(), 100); ++k, ++elements) {
        const double other = y != nullptr ? y->get(k) : round_to(*real, format(x.dtype));
        if (x.get(k) == other) ++equal;
        if (x.get(k) == 0 && (y == nullptr || other == 0)) ++both_zero;
      }
    }
    ASSERT_GT(elements, 1000u) << name;
    EXPECT_GT(equal, elements / 4) << name;
    EXPECT_LT(equal, elements * 3 / 4) << name;
    if (op.schema.argument_storage[1].is_tensor()) {  // else they are equal to the number
      EXPECT_GT(both_zero, elements / 20) << name;
    }
  }
}

TEST(GenerateData, TheSameCaseGivesTheSameBits) {
  for (const std::string& family : names()) {
    const std::string c = "mm:f32:self=5x7,mat2=7x3:data=" + family + ":seed=";
    const Call a = call_of(c + "8");
    const Call b = call_of(c + "8");
    const Call other = call_of(c + "9");
    for (const std::size_t i : {0u, 1u})
      EXPECT_EQ(std::get<TensorData>(a.arguments[i]).memory, std::get<TensorData>(b.arguments[i]).memory)
          << family;
    if (family == "ones") continue;
    EXPECT_NE(std::get<TensorData>(a.arguments[0]).memory, std::get<TensorData>(other.arguments[0]).memory)
        << family;
    EXPECT_NE(values(a, 0)[1], values(a, 1)[1]) << family << ": every argument has numbers of its own";
  }
}

// Recorded seeds must bring back the same numbers, on any machine and in any release.
TEST(GenerateData, NumbersOfASeedAreTheSameOnEveryMachine) {
  std::map<std::string, std::uint64_t> fingerprints;
  for (const std::string& family : names()) {
    std::uint64_t h = 0;
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      // Numbers of a range are its operator's.
      const Call call =
          call_of((family == "range" ? std::string("toy_choice:") + dtype + ":mask=9x5,self=9x5,other=9x5"
                                     : std::string("mm:") + dtype + ":self=17x9,mat2=9x5") +
                  ":data=" + family + ":seed=42");
      for (const std::size_t i : {0u, 1u}) {
        const auto& memory = std::get<TensorData>(call.arguments[i]).memory;
        h = mix(h, hash({reinterpret_cast<const char*>(memory.data()), memory.size()}));
      }
    }
    fingerprints[family] = h;
  }
  const std::map<std::string, std::uint64_t> recorded{
      {"cancelling", 11856931353353464517u},
      {"constant", 15756641370276434535u},
      {"edge", 10568280328741329414u},
      {"integers", 7453217122737076461u},
      {"long", 13940474072708209131u},
      {"masked", 1688472167888549218u},
      {"normal", 14943049865193817579u},
      {"offset", 8988920983928968983u},
      {"ones", 7130049151602479716u},
      {"range", 6079653596084272748u},
      {"selection", 17141263766357692163u},
      {"special", 5199753736820412685u},
      {"tiny", 3145108497381870587u},
      {"trits", 6960974600550796072u},
      {"uniform", 133200981330039262u},
      {"wide", 15794989549187311476u},
      {kPastEnd.data(), 14943049865193817579u},
      {kNegativeIndex.data(), 14943049865193817579u},
      {kZeroDivisor.data(), 14943049865193817579u},
  };
  EXPECT_EQ(fingerprints, recorded);
}

TEST(GenerateData, LayoutsMoveNumbersButDoNotChangeThem) {
  for (const std::string& family : names()) {
    const auto of = [&](const std::string& layout) {
      return values(call_of("relu:f32:self=[2x3x4x5]@" + layout + ":data=" + family + ":seed=3"), 0);
    };
    const std::vector<double> plain = of("contiguous");
    for (const char* layout :
         {"channels_last", "permuted(2,0,3,1)", "step2", "offset(7)", "strides(100,30,7,1)"}) {
      const std::vector<double> other = of(layout);
      for (std::size_t i = 0; i < plain.size(); ++i)
        EXPECT_TRUE(plain[i] == other[i] || (std::isnan(plain[i]) && std::isnan(other[i])))
            << family << layout << i;
    }
  }
}

TEST(GenerateData, ExpandedTensorsHoldOneNumberForEachGroup) {
  const Call call = call_of("relu:f32:self=[3x4]@expanded(0):data=normal:seed=3");
  EXPECT_EQ(std::get<TensorData>(call.arguments[0]).memory.size(), 4 * sizeof(float));
  const std::vector<double> x = values(call, 0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(x[i], x[i + 4]);
  EXPECT_NE(x[0], x[1]);
}

TEST(GenerateData, GapsStayZeroSoThatReadingThemShows) {
  const Call call = call_of("relu:f32:self=[8]@step2:data=ones:seed=3");
  const auto& memory = std::get<TensorData>(call.arguments[0]).memory;
  ASSERT_EQ(memory.size(), 15 * sizeof(float));
  for (std::size_t i = 0; i < 15; ++i)
    EXPECT_EQ(load(&memory[i * sizeof(float)], Dtype::f32), i % 2 == 0 ? 1.0 : 0.0);
}

// Every order of summation gives the same: partial sums of absolute values stay integers of the compute format.
TEST(GenerateData, SumsOfExactFamiliesAreExact) {
  for (const std::string family : {"integers", "trits", "ones"})
    for (const std::string dtype : {"f32", "f16", "bf16", "f64"})
      for (const int terms : {1, 16, 257, 4096})
        for (int seed = 20; seed < 40; ++seed) {
          const Call call =
              call_of("mm:" + dtype + ":self=1x" + std::to_string(terms) + ",mat2=" + std::to_string(terms) +
                      "x1:data=" + family + ":seed=" + std::to_string(seed));
          const std::vector<double> a = values(call, 0);
          const std::vector<double> b = values(call, 1);
          double sum = 0;
          for (std::size_t k = 0; k < a.size(); ++k) {
            ASSERT_EQ(a[k], std::nearbyint(a[k]));
            ASSERT_EQ(b[k], std::nearbyint(b[k]));
            sum += std::fabs(a[k] * b[k]);
          }
          ASSERT_LE(sum, dtype == "f64" ? 0x1p53 : 0x1p24) << family << dtype << terms;
        }
}

TEST(GenerateData, TritsAndSelectionsTakeTurns) {
  std::set<bool> roles;
  for (int seed = 20; seed < 40; ++seed) {
    const Call trits = call_of("mm:f32:self=6x40,mat2=40x7:data=trits:seed=" + std::to_string(seed));
    const auto special = [&](std::size_t i) {
      for (const double v : values(trits, i))
        if (std::fabs(v) > 1) return false;
      return true;
    };
    EXPECT_NE(special(0), special(1));
    roles.insert(special(0));
    double greatest = 0;
    for (const double v : values(trits, special(0) ? 1 : 0)) greatest = std::max(greatest, std::fabs(v));
    EXPECT_GT(greatest, 2048);
    EXPECT_LT(greatest, 4096);

    const Call selection = call_of("mm:f32:self=6x40,mat2=40x7:data=selection:seed=" + std::to_string(seed));
    const std::vector<double> a = values(selection, 0);
    const std::vector<double> b = values(selection, 1);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 7; ++j) {
        int products = 0;
        for (std::size_t k = 0; k < 40; ++k) products += a[i * 40 + k] * b[k * 7 + j] != 0 ? 1 : 0;
        EXPECT_EQ(products, 1);
      }
  }
  EXPECT_EQ(roles.size(), 2u);
}

TEST(GenerateData, SelectionsUseEverySignificandBit) {
  for (const auto& [dtype, precision] :
       std::map<std::string, int>{{"f64", 53}, {"f32", 24}, {"f16", 11}, {"bf16", 8}}) {
    const std::vector<double> x = values(call_of("relu:" + dtype + ":self=100:data=selection:seed=30"), 0);
    int odd = 0;
    for (const double v : x) {
      int exponent = 0;
      const double significand = std::ldexp(std::frexp(std::fabs(v), &exponent), precision);
      odd += std::fmod(significand, 2) == 1 ? 1 : 0;
    }
    EXPECT_GE(odd, 95) << dtype;
  }
}

TEST(GenerateData, NormalNumbersAreNormal) {
  const Stream s(123);
  constexpr int n = 200'000;
  double sum = 0, squares = 0, fourth = 0;
  int beyond2 = 0, beyond3 = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double x = normal(s, i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    beyond2 += std::fabs(x) > 2 ? 1 : 0;
    beyond3 += std::fabs(x) > 3 ? 1 : 0;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 1, 0.01);
  EXPECT_NEAR(fourth / n, 2.97, 0.08);
  EXPECT_NEAR(beyond2 / double(n), 0.0455, 0.003);
  EXPECT_NEAR(beyond3 / double(n), 0.0025, 0.0006);
}

TEST(GenerateData, SlopesLieBelowZeroBetweenZeroAndOneAndAbove) {
  int below = 0, between = 0, above = 0, special = 0;
  for (const double w : values(call_of("prelu:f32:self=2x90,weight=90:data=normal:seed=21"), 1)) {
    below += w < 0 ? 1 : 0;
    between += w > 0 && w < 1 ? 1 : 0;
    above += w > 1 ? 1 : 0;
    special += w == 0 || w == 1 ? 1 : 0;
  }
  EXPECT_GE(below, 10);
  EXPECT_GE(between, 10);
  EXPECT_GE(above, 10);
  EXPECT_GE(special, 2);
}

TEST(GenerateData, FamiliesAreWhatTheirNamesSay) {
  const auto range = [](const std::vector<double>& x) {
    std::pair<double, double> r{INFINITY, 0};
    for (const double v : x) r = {std::min(r.first, std::fabs(v)), std::max(r.second, std::fabs(v))};
    return r;
  };
  std::set<double> means;
  double widest = 0;
  for (int seed = 20; seed < 60; ++seed) {
    const auto of = [&](const std::string& family, const std::string& dtype = "f32") {
      return values(call_of("relu:" + dtype + ":self=300:data=" + family + ":seed=" + std::to_string(seed)),
                    0);
    };
    const auto constant = of("constant");
    EXPECT_EQ(range(constant).first, range(constant).second);
    EXPECT_LE(range(of("uniform")).second, 8);
    const auto offset = range(of("offset"));
    EXPECT_GT(offset.first, 5);
    EXPECT_LT(offset.second - offset.first, 10);
    means.insert(std::pow(10, std::round(std::log10(offset.first))));
    const auto wide = range(of("wide"));
    EXPECT_GT(wide.second / wide.first, 1e20);
    widest = std::max(widest, wide.second);
    for (const double v : of("wide", "f16")) EXPECT_TRUE(std::isfinite(v) && v != 0);
    for (const double v : of("offset", "f16")) EXPECT_TRUE(std::isfinite(v));
    EXPECT_GE(range(of("long")).first, 0.5);

    const auto x = of("cancelling");
    for (std::size_t i = 0; i + 1 < x.size(); i += 2)
      EXPECT_LT(std::fabs(x[i] + x[i + 1]), 1e-5 * std::fabs(x[i]) + 1e-30);
  }
  EXPECT_EQ(means, (std::set<double>{1e1, 1e2, 1e3, 1e4}));
  EXPECT_GT(widest, 1e28);
  EXPECT_LT(widest, 1e32);
}

TEST(GenerateData, ProductsOfCancellingTensorsCancel) {
  double share = 0;
  for (int seed = 20; seed < 40; ++seed) {
    const Call call = call_of("mm:f32:self=1x40,mat2=40x1:data=cancelling:seed=" + std::to_string(seed));
    const std::vector<double> a = values(call, 0);
    const std::vector<double> b = values(call, 1);
    double sum = 0, absolute = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum += a[k] * b[k];
      absolute += std::fabs(a[k] * b[k]);
    }
    share = std::max(share, std::fabs(sum) / absolute);
  }
  EXPECT_LT(share, 1e-6);
}

// toy_choice has the ranges 1..2 and -30..-10 for self, and none for other.
TEST(GenerateData, RangesAreWhatTheOperatorSays) {
  bool low = false, high = false, neighbour_of_one = false, neighbour_of_minus_ten = false;
  for (int seed = 20; seed < 80; ++seed) {
    const Call call =
        call_of("toy_choice:f32:mask=[40],self=40,other=40:data=range:seed=" + std::to_string(seed));
    const std::vector<double> x = values(call, 1);
    const bool first = x[0] > 0;
    for (const double v : x) {
      EXPECT_TRUE(first ? v >= 1 && v <= 2 : v >= -30 && v <= -10) << v;
      neighbour_of_one |= v == 1 + 0x1p-23;
      neighbour_of_minus_ten |= v == -10 - 0x1p-20;
    }
    (first ? high : low) = true;
    for (const double v : values(call, 2)) EXPECT_LE(std::fabs(v), 8);
  }
  EXPECT_TRUE(low && high && neighbour_of_one && neighbour_of_minus_ten);
}

TEST(GenerateData, OnlyOperatorsWithRangesDrawThem) {
  const auto draws = [](const char* op) {
    int n = 0;
    for (std::uint64_t i = 0; i < 300; ++i)
      n += generate(*find_operator(op), Dtype::f32, 5, i).data == "range" ? 1 : 0;
    return n;
  };
  toys::all();
  EXPECT_EQ(draws("relu"), 0);
  EXPECT_GT(draws("toy_choice"), 15);
}

TEST(GenerateData, IntegerTensorsHoldTheirDtypesNumbers) {
  for (const std::string& family : names())
    for (const auto& [dtype, least, greatest] : {std::tuple{"i8", -128.0, 127.0},
                                                 {"u8", 0.0, 255.0},
                                                 {"bool", 0.0, 1.0},
                                                 {"i64", -0x1p63, 0x1p63}}) {
      std::set<double> different;
      for (int seed = 20; seed < 30; ++seed)
        for (const double v :
             values(call_of(std::string("toy_integers:") + dtype +
                            ":self=50,other=50,factor=2:data=" + family + ":seed=" + std::to_string(seed)),
                    0)) {
          EXPECT_GE(v, least);
          EXPECT_LE(v, greatest);
          different.insert(v);
        }
      const bool all_true = std::string(dtype) == "bool" && (family == "offset" || family == "long");
      EXPECT_GE(different.size(), family == "ones" || all_true ? 1u : 2u) << family << dtype;
    }
}

TEST(GenerateData, AnUnknownFamilyNamesTheKnownOnes) {
  try {
    call_of("relu:f32:self=3:data=gauss");
    FAIL();
  } catch (const CaseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("gauss"));
    EXPECT_THAT(e.what(), HasSubstr("normal, range, offset"));
  }
}

// A kernel that takes integers through floating-point numbers makes one number of several.
TEST(GenerateData, SomeIntegersDifferWhereDoublesAndFloatsDoNot) {
  const auto merge = [](const char* dtype, auto narrow) {
    for (int seed = 1; seed <= 20; ++seed) {
      const Call call = materialise(parse_case("argmax:" + std::string(dtype) +
                                               ":self=64,dim=0:data=wide:seed=" + std::to_string(seed)));
      const auto& t = std::get<TensorData>(call.arguments[0]);
      std::set<std::int64_t> all;
      std::set<decltype(narrow(0))> narrowed;
      for (std::int64_t i = 0; i < t.numel(); ++i) {
        all.insert(load_integer(t.element(i), t.dtype));
        narrowed.insert(narrow(load_integer(t.element(i), t.dtype)));
      }
      if (narrowed.size() < all.size()) return true;
    }
    return false;
  };
  EXPECT_TRUE(merge("i64", [](std::int64_t n) { return static_cast<double>(n); }));
  EXPECT_TRUE(merge("i32", [](std::int64_t n) { return static_cast<float>(n); }));
}

}  // namespace
}  // namespace assay
