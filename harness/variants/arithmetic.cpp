// Formulas that are right, in formats or with functions that are not good enough.
#include <fmt/format.h>

#include "variant.h"

namespace assay {
namespace {

void plant_format(std::vector<Variant>& all, std::string_view what, std::string says, Concerns concerns,
                  DtypeSet dtypes, std::string_view fields) {
  all.push_back({.name = fmt::format("arithmetic.{}", what),
                 .says = std::move(says),
                 .concerns = concerns,
                 .dtypes = dtypes,
                 .contract = fmt::format("{} -- a variant", fields)});
}

}  // namespace

void add_arithmetic_variants(const Operator&, std::vector<Variant>& all) {
  const DtypeSet f64 = only(Dtype::f64), f32 = only(Dtype::f32);
  plant_format(all, "in_f32", "computes in f32", Concerns::arithmetic, f64, "compute=f32");
  plant_format(all, "sums_in_f32", "adds in f32", Concerns::sums, f64, "accumulate=f32");
  plant_format(all, "products_of_f32", "rounds the factors of products to f32", Concerns::products, f64,
               "multiply=f32");
  plant_format(all, "in_bf16", "computes in bf16", Concerns::arithmetic, f32, "compute=bf16");
  plant_format(all, "in_f16", "computes in f16", Concerns::arithmetic, f32, "compute=f16");
  plant_format(all, "sums_in_bf16", "adds in bf16", Concerns::sums, f32 | only(Dtype::bf16),
               "accumulate=bf16");
  plant_format(all, "sums_in_f16", "adds in f16", Concerns::sums, f32 | only(Dtype::f16), "accumulate=f16");
  plant_format(all, "products_of_bf16", "rounds the factors of products to bf16", Concerns::products, f32,
               "multiply=bf16");
  plant_format(all, "products_of_f16", "rounds the factors of products to f16", Concerns::products, f32,
               "multiply=f16");
  plant_format(all, "one_pass_moments",
               "takes the variance in one pass, as the mean of the squares less the squared mean",
               Concerns::moments, f64 | f32, "moments=one_pass");
  // Rounded up by what such a function may be wrong.
  for (const int ulp : {64, 4096}) {
    std::string fields;
    for (const std::string_view f : kFunctionNames)
      fields += fmt::format("{}{}={}ulp", fields.empty() ? "" : " ", f, ulp);
    plant_format(all, fmt::format("functions_{}_ulp_off", ulp),
                 fmt::format("has exp, log, erf and their like {} ulp too high", ulp), Concerns::functions,
                 f64 | f32, fields);
    all.back().attack.rounding = Attack::Rounding::up;
  }
}

}  // namespace assay
