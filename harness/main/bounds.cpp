// assay bounds
//
// --json: {"format": "assay.bounds/1", "rows": [{"case", "mean", "result", "contract", "seen", "errs", "attacked", "elements",
//          "undecidable"}]}, numbers as in sharpness.h; `mean` is null where it is that of the case.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "../diagnose/strictest.h"
#include "../generate/data.h"
#include "../judge/sharpness.h"
#include "commands.h"
#include "graph_flag.h"
#include "interrupt.h"
#include "reports/file.h"
#include "shared_flags.h"
#include "vocabulary/case.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct BoundsFlags {
  std::vector<std::string> cases, contracts;
  std::vector<double> means;
  std::string json;
};

// Of sizes that networks have.
const std::vector<std::string> kUsualCases{
    "native_layer_norm:f32:input=8x768,normalized_shape=[768],weight=768,bias=768,eps=1e-05:data=normal:seed=1",
    "native_group_norm:f32:input=1x64x8x8,weight=64,bias=64,N=1,C=64,HxW=64,group=8,eps=1e-05:data=normal:seed=1",
    "native_batch_norm:f32:input=8x16x8x8,weight=16,bias=16,running_mean=none,running_var=none,training=true,momentum=0.1,eps=1e-05:data=normal:seed=1",
    "var.correction:f32:self=4096,dim=[0],correction=none,keepdim=false:data=normal:seed=1",
    "sum.dim_IntList:f32:self=4096,dim=[0],keepdim=false,dtype=none:data=normal:seed=1",
    "softmax.int:f32:self=4x1024,dim=1,dtype=none:data=normal:seed=1",
    "linear:f32:input=4x4096,weight=8x4096,bias=8:data=normal:seed=1",
    "convolution:f32:input=1x64x14x14,weight=32x64x3x3,bias=32,stride=[1,1],padding=[1,1],dilation=[1,1],transposed=false,output_padding=[0,0],groups=1:data=normal:seed=1"};
const std::vector<double> kUsualMeans{0, 3, 30};
const std::vector<std::string> kUsualContracts{"strict", "chain=partial(16)",
                                               "chain=partial(16) moments=updating affine=folded", ""};

Contract contract_of(const std::string& fields, const Call& call) {
  const Dtype dtype = call.outputs[0].computed_in;
  if (fields.empty()) return diagnose::contract_or_strangers("", call);
  try {
    return parse_contract(fields + " -- --contract", dtype);
  } catch (const std::invalid_argument& e) {
    throw UsageError(fmt::format("--contract {}: {}", fields, e.what()));
  }
}

// The call, with the numbers of its first tensor moved.
Call call_of(const std::string& text, std::optional<double> mean) {
  Call call = materialise(parse_case(text));
  if (!call.error.empty()) throw UsageError(fmt::format("{}: {}", text, call.error));
  if (!is_float(call.outputs[0].dtype) || !is_float(call.outputs[0].computed_in))
    throw UsageError(
        fmt::format("{}: its results are no floating-point numbers, and right to the bit", text));
  for (CallValue& v : call.arguments) {
    auto* t = std::get_if<TensorData>(&v);
    if (t == nullptr) continue;
    for (std::int64_t i = 0; mean && i < t->numel(); ++i) t->set(i, t->get(i) + *mean);
    break;
  }
  return call;
}

std::string times_of(double x) {
  return x < 10 ? fmt::format("{:.1f}", x) : x < 1e6 ? fmt::format("{:.0f}", x) : fmt::format("{:.0e}", x);
}

std::string beside(double seen, double error) {
  return error > 0 ? fmt::format("{:8.2g} {:>8}", error, fmt::format("({})", times_of(seen / error)))
                   : fmt::format("{:8} {:>8}", 0, "");
}

int bounds_command(const BoundsFlags& flags) {
  check_files({{"--json", flags.json}}, {});
  for (const double mean : flags.means)
    if (!std::isfinite(mean)) throw UsageError(fmt::format("--mean {}: must be a finite number", mean));
  const std::vector<std::string>& cases = flags.cases.empty() ? kUsualCases : flags.cases;
  const std::vector<std::string>& contracts = flags.contracts.empty() ? kUsualContracts : flags.contracts;
  std::vector<std::optional<double>> means(flags.means.begin(), flags.means.end());
  if (means.empty() && flags.cases.empty()) means.assign(kUsualMeans.begin(), kUsualMeans.end());
  if (means.empty()) means.emplace_back();
  const bool text_out = flags.json != "-";
  Json rows = Json::array();
  for (const std::string& text : cases)
    for (const std::optional<double>& mean : means) {
      const Call call = call_of(text, mean);
      if (text_out)
        fmt::print("{}{}\n  {:>10}  {:>17}  {:>17}  contract\n", text,
                   mean ? fmt::format(", {:+g}", *mean) : std::string(), "seen", "kernels err", "at worst");
      std::string last;
      for (const std::string& fields : contracts) {
        stop_now();
        const Contract contract = contract_of(fields, call);
        const Sharpness s = sharpness(call, 0, contract);
        rows.push_back({{"case", text},
                        {"mean", mean ? Json(*mean) : Json(nullptr)},
                        {"result", output_name(*call.op, 0)},
                        {"contract", assay::text(contract)},
                        {"seen", s.seen},
                        {"errs", s.errs},
                        {"attacked", s.attacked},
                        {"elements", s.elements},
                        {"undecidable", s.undecidable}});
        // What a contract allows and the operator does not do changes nothing.
        const std::string line =
            fmt::format("  {:10.2g}  {}  {}", s.seen, beside(s.seen, s.errs), beside(s.seen, s.attacked));
        if (text_out && line != last)
          fmt::print("{}  {}{}\n", line, fields.empty() ? "what common libraries do" : fields,
                     s.undecidable > 0 ? fmt::format("; of {} of {} elements any result would pass",
                                                     s.undecidable, s.elements)
                                       : std::string());
        last = line;
      }
    }
  if (!flags.json.empty())
    write_file(flags.json, Json{{"format", "assay.bounds/1"}, {"rows", std::move(rows)}}.dump(1) + "\n");
  return kAllWell;
}

}  // namespace

void add_bounds(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "bounds", "How sharp bounds are: the smallest error that is seen, beside what right kernels err");
  command->footer(
      "  assay bounds\n"
      "  assay bounds native_layer_norm:f32:input=8x768,normalized_shape=[768],weight=none,bias=none,eps=1e-05 --mean 30 \\\n"
      "      --contract 'chain=partial(16) moments=updating'\n\n"
      "seen         an error of this size in any element that was looked at (32, spread) is a fault under the contract\n"
      "kernels err  the largest error of kernels that keep to the contract and round to nearest, in several orders and\n"
      "             fusions; in brackets, how many times as large what is seen is\n"
      "at worst     the same of kernels whose every rounding is as wrong as it may be\n"
      "Of each operator's first result. Without CASE, cases of sizes that networks have, with means of 0, 3 and 30 beside a\n"
      "spread of 1. Contracts that give the same line as the one before are left out.");
  auto flags = std::make_shared<BoundsFlags>();
  add_graphs(*command);
  command->add_option("CASE", flags->cases, "cases, as printed by any command")->type_name("");
  command->add_option("--mean", flags->means, "add this to the numbers of the first tensor; may be repeated")
      ->allow_extra_args(false)
      ->type_name("M");
  command
      ->add_option("--contract", flags->contracts,
                   "fields of a contract, or strict (`assay ops --help` explains them); may be repeated")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  command->add_option("--json", flags->json, "write the answer; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return bounds_command(*flags); }; });
}

}  // namespace assay
