#include "engine_nodes.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/file.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "assay.engine/1";

[[noreturn]] void malformed(const std::string& where, std::string_view what) {
  throw std::invalid_argument(fmt::format("{}: {}", where, what));
}

const json* member(const json& of, const char* name) {
  const auto found = of.find(name);
  return found == of.end() || found->is_null() ? nullptr : &*found;
}

std::string text_at(const json& of, const char* name, const std::string& where, bool needed = false) {
  const json* const found = member(of, name);
  if (found == nullptr) {
    if (needed) malformed(where, fmt::format("\"{}\" is missing", name));
    return {};
  }
  if (!found->is_string()) malformed(where, fmt::format("\"{}\" is no text", name));
  return found->get<std::string>();
}

// A list, empty if there is none, whose entries `each` takes.
void for_list(const json& of, const char* name, const std::string& where, const auto& each) {
  const json* const found = member(of, name);
  if (found == nullptr) return;
  if (!found->is_array()) malformed(where, fmt::format("\"{}\" is no list", name));
  for (std::size_t i = 0; i < found->size(); ++i) each((*found)[i], fmt::format("{}{}[{}]", where.empty() ? "" : where + ".", name, i));
}

std::vector<std::string> names_in(const json& node, const char* name, const std::string& where) {
  std::vector<std::string> all;
  for_list(node, name, where, [&](const json& each, const std::string& at) {
    if (!each.is_string()) malformed(at, "is no text");
    all.push_back(each.get<std::string>());
  });
  return all;
}

std::vector<std::string> tensor_names(const json& document, const char* name) {
  std::vector<std::string> all;
  for_list(document, name, "", [&](const json& each, const std::string& at) {
    if (!each.is_object()) malformed(at, "is no object");
    all.push_back(text_at(each, "tensor", at, true));
  });
  return all;
}

}  // namespace

EngineNodes parse_engine_nodes(std::string_view text) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& e) {
    throw std::invalid_argument(e.what());
  }
  if (!document.is_object()) throw std::invalid_argument("it is no JSON object");
  if (const std::string format = text_at(document, "format", "", false); format != kFormat)
    throw std::invalid_argument(fmt::format("its format is \"{}\" and not \"{}\"", format, kFormat));
  EngineNodes all;
  all.engine = text_at(document, "engine", "");
  if (const json* const settings = member(document, "settings"); settings != nullptr && settings->is_object())
    for (const auto& [name, value] : settings->items())
      all.settings[name] = value.is_string() ? value.get<std::string>()
                                             : value.dump(-1, ' ', false, json::error_handler_t::replace);
  all.inputs = tensor_names(document, "inputs");
  all.outputs = tensor_names(document, "outputs");
  all.parameters = tensor_names(document, "parameters");
  for_list(document, "nodes", "", [&](const json& each, const std::string& at) {
    if (!each.is_object()) malformed(at, "is no object");
    all.nodes.push_back({text_at(each, "name", at), text_at(each, "op", at, true), text_at(each, "module", at),
                         text_at(each, "call", at), names_in(each, "inputs", at), names_in(each, "outputs", at)});
  });
  return all;
}

std::optional<Dtype> precision_of(const EngineNodes& nodes) {
  const auto found = nodes.settings.find("inference_precision");
  if (found == nodes.settings.end()) return std::nullopt;
  if (found->second.find("bf16") != std::string::npos || found->second.find("bfloat16") != std::string::npos) return Dtype::bf16;
  if (found->second.find("f16") != std::string::npos || found->second.find("float16") != std::string::npos) return Dtype::f16;
  return std::nullopt;
}

EngineNodes read_engine_nodes(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return parse_engine_nodes(text);
  } catch (const std::invalid_argument& e) {
    throw FileError(fmt::format("{}: {}", path, e.what()));
  }
}

std::string nodes_beside(const std::string& dump) {
  std::filesystem::path path = std::filesystem::path(dump).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // "dumps/"
  const std::filesystem::path beside = path.replace_extension(".nodes.json");
  std::error_code error;
  return std::filesystem::is_regular_file(beside, error) ? beside.string() : std::string();
}

}  // namespace assay
