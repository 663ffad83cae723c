// assay ops
#include <fmt/format.h>

#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "../registry/operator_json.h"
#include "../verify/verify.h"
#include "commands.h"
#include "graph_flag.h"
#include "reports/file.h"
#include "reports/text.h"
#include "reports/verdict.h"
#include "shared_flags.h"
#include "support.h"
#include "terminal.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct OpsFlags {
  std::vector<std::string> patterns;
  std::vector<std::string> plugins;
  std::string json;
  std::string yaml;
  bool contracts = false;
};

Json contract_json(const Kernel& kernel, const Operator& op) {
  Json all = Json::object();
  for (int d = 0; d < kDtypes; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (!op.dtypes.contains(dtype)) continue;
    Json fields = Json::array();
    for (const Contract::Stated& s : parse_contract(kernel.contract, dtype).stated)
      fields.push_back({{"field", s.field}, {"value", s.value}, {"source", s.source}});
    all[std::string(name(dtype))] = std::move(fields);
  }
  return all;
}

Json kernel_json(const Kernel& k, const Operator& op, const Answers& answers) {
  Json runs = Json::array(), refused = Json::object(), failed = Json::object();
  for (const Dtype dtype : dtypes_of(op))
    if (const auto answer = answers.find({&k, dtype}); answer != answers.end()) {
      if (answer->second.runs)
        runs.push_back(name(dtype));
      else
        (answer->second.refuses ? refused : failed)[std::string(name(dtype))] = answer->second.reason;
    }
  return {{"impl", k.name},
          {"peer", k.peer},
          {"on_device", k.on_device},
          {"unavailable", k.unavailable},
          {"checks_arguments", k.checks_arguments},
          {"code", k.source},
          {"dtypes", std::move(runs)},
          {"refused", std::move(refused)},
          {"failed", std::move(failed)},
          {"contract", contract_json(k, op)}};
}

Json describe(const Registry& registry, const std::vector<const Operator*>& operators,
              const Answers& answers) {
  Json all = Json::array();
  for (const Operator* op : operators) {
    Json kernels = Json::array();
    for (const Kernel* k : registry.kernels_of(*op)) kernels.push_back(kernel_json(*k, *op, answers));
    Json one = operator_json(*op);
    one["kernels"] = std::move(kernels);
    all.push_back(std::move(one));
  }
  return all;
}

void emit(YAML::Emitter& out, const Json& j) {
  if (j.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, value] : j.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, value);
    }
    out << YAML::EndMap;
  } else if (j.is_array()) {
    out << YAML::BeginSeq;
    for (const Json& value : j) emit(out, value);
    out << YAML::EndSeq;
  } else if (j.is_boolean()) {
    out << j.get<bool>();
  } else {
    out << j.get<std::string>();
  }
}

std::string joined(const Json& names, std::string_view separator = " ") {
  std::string s;
  for (const Json& n : names) s += fmt::format("{}{}", s.empty() ? "" : separator, n.get<std::string>());
  return s;
}

// "f64 f32: chain=any; bf16: strict", of the dtypes that run; without dtypes where all say the same.
std::string contract_line(const Json& kernel) {
  std::vector<std::pair<std::string, std::string>> said;  // the clause, and whose it is
  for (const Json& d : kernel["dtypes"]) {
    std::string clause;
    for (const Json& f : kernel["contract"][d.get<std::string>()])
      clause += fmt::format("{}{}={}", clause.empty() ? "" : " ", f["field"].get<std::string>(),
                            f["value"].get<std::string>());
    if (clause.empty()) clause = "strict";
    const auto same = std::ranges::find(said, clause, &std::pair<std::string, std::string>::first);
    if (same == said.end())
      said.emplace_back(clause, d.get<std::string>());
    else
      same->second += " " + d.get<std::string>();
  }
  std::string line;
  for (const auto& [clause, dtypes] : said)
    line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", dtypes, clause);
  return line;
}

void print_sources(const Json& kernel) {
  std::string last;
  for (const Json& d : kernel["dtypes"])
    for (const Json& f : kernel["contract"][d.get<std::string>()]) {
      const auto source = fmt::format("{}={}  {}", f["field"].get<std::string>(),
                                      f["value"].get<std::string>(), f["source"].get<std::string>());
      if (source != last) fmt::print("          {}\n", source);
      last = source;
    }
}

// "self, other: any of these"; names that have the same rule stand together.
std::string grouped_by_rule(const Json& named, const std::function<std::string(const Json&)>& rule_of) {
  std::vector<std::pair<std::string, std::string>> said;  // the rule, and whose it is
  for (const Json& n : named) {
    const std::string rule = rule_of(n);
    const std::string its = n["name"].get<std::string>() +
                            (n.contains("optional") && n["optional"].get<bool>() ? " (or none)" : "");
    const auto same = std::ranges::find(said, rule, &std::pair<std::string, std::string>::first);
    if (same == said.end())
      said.emplace_back(rule, its);
    else
      same->second += ", " + its;
  }
  std::string line;
  for (const auto& [rule, names] : said)
    line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", names, rule);
  return line;
}

void print_dtypes(const Json& op) {
  const auto shared = std::ranges::count_if(
      op["arguments"], [](const Json& a) { return a["rule"].get<std::string>() == "shared"; });
  const auto takes = grouped_by_rule(op["arguments"], [&](const Json& a) -> std::string {
    const auto rule = a["rule"].get<std::string>();
    if (rule == "shared") return shared == 1 ? "one of these" : "one of these, the same for all";
    if (rule == "promoted") return "each one of these";
    return rule == "its own" ? joined(a["dtypes"], " or ") : rule;
  });
  const auto gives =
      grouped_by_rule(op["results"], [](const Json& r) { return r["rule"].get<std::string>(); });
  fmt::print("    dtypes {}\n", joined(op["dtypes"]));
  if (!takes.empty()) fmt::print("{}", paragraph("takes " + takes, "      ", "        "));
  fmt::print("{}", paragraph("gives " + gives, "      ", "        "));
}

void print_details(const Json& operators, bool contracts) {
  for (const Json& op : operators) {
    fmt::print("{}\n", op["schema"].get<std::string>());
    fmt::print("    {}\n", op["formula"].get<std::string>());
    print_dtypes(op);
    fmt::print("    shapes {}   oracle {}\n", op["shapes"].get<std::string>(),
               op["oracle"].get<std::string>());
    for (const Json& k : op["kernels"]) {
      const auto head =
          fmt::format("      {:<20} {}", k["impl"].get<std::string>(), k["peer"] ? "peer  " : "");
      if (const auto why = k["unavailable"].get<std::string>(); !why.empty()) {
        fmt::print("{}not here: {}\n", head, without_words(Verdict::not_run, why));
        continue;
      }
      fmt::print("{}{}\n", head, contract_line(k));
      for (const auto& [dtype, reason] : k["refused"].items())
        fmt::print("          refuses {}: {}\n", dtype, reason.get<std::string>());
      for (const auto& [dtype, reason] : k["failed"].items())
        fmt::print("          fails on {}: {}\n", dtype, reason.get<std::string>());
      if (contracts) print_sources(k);
    }
    fmt::print("\n");
  }
}

// Dtypes, with "integers" for all five that have a sign or a width.
std::string shortened(const Json& dtypes) {
  if (dtypes.empty()) return "-";
  std::string s = joined(dtypes);
  constexpr std::string_view kAll = "i64 i32 i16 i8 u8";
  if (const std::size_t at = s.find(kAll); at != std::string::npos) s.replace(at, kAll.size(), "integers");
  return s;
}

// One line an operator, one column a library, in it the dtypes that any of its kernels runs.
void print_table(const Json& operators) {
  const auto library = [](const Json& kernel) {
    const auto impl = kernel["impl"].get<std::string>();
    return impl.starts_with("plugin:") ? impl : impl.substr(0, impl.find('.'));
  };
  std::vector<std::string> libraries;
  for (const Json& op : operators) {
    for (const Json& k : op["kernels"])
      if (std::ranges::find(libraries, library(k)) == libraries.end()) libraries.push_back(library(k));
  }
  // PyTorch, which has nearly all, after those that have some.
  std::stable_partition(libraries.begin(), libraries.end(),
                        [](const std::string& l) { return l != "torch"; });
  std::vector<std::vector<std::string>> lines{{""}};
  lines[0].insert(lines[0].end(), libraries.begin(), libraries.end());
  for (const Json& op : operators) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(op["op"].get<std::string>());
    for (const std::string& l : libraries) {
      Json run = Json::array();
      for (const Json& d : op["dtypes"])
        for (const Json& k : op["kernels"])
          if (library(k) == l && std::ranges::find(k["dtypes"], d) != k["dtypes"].end()) {
            run.push_back(d);
            break;
          }
      line.push_back(shortened(run));
    }
  }
  std::vector<std::size_t> widths(libraries.size() + 1);
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) text += fmt::format("{:<{}}", line[c], widths[c] + 2);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
  fmt::print(
      "\nintegers: i64 i32 i16 i8 u8. `assay ops NAME` tells the kernels of an operator, their contracts and why they refuse.\n");
}

Answers answers_of(const Registry& registry, const std::vector<const Operator*>& operators) {
  ProgressLine line;
  return ask(registry, operators, [&](std::chrono::duration<double> since) {
    line.show(fmt::format("waiting for kernels that run a few cases, to see what they take: {}",
                          duration_text(since.count())));
  });
}

int ops_command(const OpsFlags& flags) {
  check_files({{"--json", flags.json}, {"--yaml", flags.yaml}});
  const std::vector<const Operator*> chosen = select_operators(flags.patterns);
  const auto registry = load_registry(flags.plugins, true, [&] { return chosen; });
  // Texts come from plugins: bytes that are not UTF-8 are replaced, not refused.
  const std::string text = describe(*registry, chosen, answers_of(*registry, chosen))
                               .dump(2, ' ', false, Json::error_handler_t::replace);
  const Json described = Json::parse(text);
  if (!flags.json.empty()) write_file(flags.json, text + "\n");
  if (!flags.yaml.empty()) {
    YAML::Emitter out;
    emit(out, described);
    write_file(flags.yaml, std::string(out.c_str()) + "\n");
  }
  if (flags.json == "-" || flags.yaml == "-") return kAllWell;
  if (flags.patterns.empty() && !flags.contracts)
    print_table(described);
  else
    print_details(described, flags.contracts);
  return kAllWell;
}

}  // namespace

void add_ops(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("ops", "Operators, kernels, dtypes, and contracts with their sources");
  std::string fields =
      "Fields of a contract, `exp=2ulp chain=partial(16)`; `strict` alone is the contract without any, under which each operation\n"
      "is rounded once, in the format of the result (f32 for f16 and bf16), and sums are in any order:\n";
  for (const ContractField& f : contract_fields())
    fields += fmt::format("  {:<17} {:<28} {}\n", f.name, f.values, f.meaning);
  command->footer(fields);
  auto flags = std::make_shared<OpsFlags>();
  command->add_option("PATTERN", flags->patterns, "shell globs on operator names; all without")
      ->type_name("");
  command->add_flag("--contracts", flags->contracts, "also print the source of every contract field");
  add_graphs(*command);
  command
      ->add_option("--plugin,--python,--source", flags->plugins,
                   "a shared library of kernels, its source text, or a function of Python")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command->add_option("--json", flags->json, "write as JSON; - is standard output")->type_name("F");
  command->add_option("--yaml", flags->yaml, "write as YAML; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return ops_command(*flags); }; });
}

}  // namespace assay
