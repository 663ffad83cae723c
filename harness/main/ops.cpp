// assay ops
#include <fmt/format.h>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "../verify/verify.h"
#include "commands.h"
#include "reports/file.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
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

Json describe(const Registry& registry, const std::vector<const Operator*>& operators) {
  Json all = Json::array();
  for (const Operator* op : operators) {
    const Reference* reference = find_reference(op->schema.name);
    Json dtypes = Json::array();
    for (int d = 0; d < kDtypes; ++d)
      if (op->dtypes.contains(static_cast<Dtype>(d))) dtypes.push_back(name(static_cast<Dtype>(d)));
    Json kernels = Json::array();
    for (const Kernel* k : registry.kernels_of(*op))
      kernels.push_back({{"impl", k->name},
                         {"peer", k->peer},
                         {"unavailable", k->unavailable},
                         {"checks_arguments", k->checks_arguments},
                         {"code", k->source},
                         {"contract", contract_json(*k, *op)}});
    all.push_back({{"op", op->schema.name},
                   {"schema", op->schema.text},
                   {"formula", op->formula},
                   {"shapes", op->shapes},
                   {"domains", op->domains},
                   {"dtypes", std::move(dtypes)},
                   {"source", op->source},
                   {"reference", fmt::format("{}:{}", reference->file(), reference->line())},
                   {"oracle", op->schema.ns == "aten" ? "torch" : "none"},
                   {"kernels", std::move(kernels)}});
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

void print(const Json& operators, bool contracts) {
  for (const Json& op : operators) {
    fmt::print("{}\n", op["schema"].get<std::string>());
    fmt::print("    {}\n", op["formula"].get<std::string>());
    std::string dtypes;
    for (const Json& d : op["dtypes"])
      dtypes += fmt::format("{}{}", dtypes.empty() ? "" : " ", d.get<std::string>());
    fmt::print("    dtypes {}   shapes {}   oracle {}\n", dtypes, op["shapes"].get<std::string>(),
               op["oracle"].get<std::string>());
    for (const Json& k : op["kernels"]) {
      const auto unavailable = k["unavailable"].get<std::string>();
      std::string stated;
      for (const auto& [dtype, fields] : k["contract"].items()) {
        std::string one;
        for (const Json& f : fields)
          one += fmt::format(" {}={}", f["field"].get<std::string>(), f["value"].get<std::string>());
        if (!one.empty()) stated += fmt::format("{}{}:{}", stated.empty() ? "" : "; ", dtype, one);
      }
      fmt::print("      {:<20} {}{}\n", k["impl"].get<std::string>(), k["peer"].get<bool>() ? "peer  " : "",
                 unavailable.empty() ? (stated.empty() ? "strict" : stated) : "not here: " + unavailable);
      if (!contracts || !unavailable.empty()) continue;
      std::string last;
      for (const auto& [dtype, fields] : k["contract"].items())
        for (const Json& f : fields) {
          const auto source = fmt::format("{}={}  {}", f["field"].get<std::string>(),
                                          f["value"].get<std::string>(), f["source"].get<std::string>());
          if (source != last) fmt::print("          {}\n", source);
          last = source;
        }
    }
    fmt::print("\n");
  }
}

int ops_command(const Flags& flags) {
  const std::vector<const Operator*> chosen = select_operators(flags.patterns);
  const auto registry = load_registry(flags.plugins, true);
  const Json described = describe(*registry, chosen);
  if (!flags.json.empty()) write_file(flags.json, described.dump(2) + "\n");
  if (!flags.yaml.empty()) {
    YAML::Emitter out;
    emit(out, described);
    write_file(flags.yaml, std::string(out.c_str()) + "\n");
  }
  if (flags.json != "-" && flags.yaml != "-") print(described, flags.contracts);
  return kAllWell;
}

}  // namespace

void add_ops(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("ops", "Operators, kernels, dtypes, and contracts with their sources");
  std::string fields = "Fields of a contract:\n";
  for (const ContractField& f : contract_fields())
    fields += fmt::format("  {:<17} {:<28} {}\n", f.name, f.values, f.meaning);
  command->footer(fields);
  auto flags = std::make_shared<Flags>();
  command->add_option("PATTERN", flags->patterns, "shell globs on operator names; all without")
      ->type_name("");
  command->add_flag("--contracts", flags->contracts, "also print the source of every contract field");
  command->add_option("--plugin", flags->plugins, "a shared library of kernels")->type_name("LIB.so");
  command->add_option("--json", flags->json, "write as JSON; - is standard output")->type_name("F");
  command->add_option("--yaml", flags->yaml, "write as YAML; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return ops_command(*flags); }; });
}

}  // namespace assay
