#include "describe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "loading.h"
#include "reports/json_reader.h"

namespace assay {

namespace {

constexpr std::string_view kFormat = "assay.kernels/1";

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

std::string unavailable(const assay_kernel& k) {
  if (k.unavailable == nullptr) return {};
  const LoadingLimit limit(
      fmt::format("unavailable() of the kernel {} for {}", text_or_empty(k.name), text_or_empty(k.schema)));
  return text_or_empty(k.unavailable());
}

}  // namespace

std::string description(const WorkerTable& table) {
  nlohmann::ordered_json root{{"format", kFormat},
                              {"plugin", table.plugin},
                              {"version", table.version},
                              {"kernels", nlohmann::ordered_json::array()}};
  for (const assay_kernel& k : table.kernels)
    root["kernels"].push_back({{"schema", text_or_empty(k.schema)},
                               {"name", text_or_empty(k.name)},
                               {"contract", text_or_empty(k.contract)},
                               {"source", text_or_empty(k.source)},
                               {"flags", k.flags},
                               {"environment", text_or_empty(k.environment)},
                               {"unavailable", unavailable(k)}});
  // Texts come from plugins: bytes that are not UTF-8 are replaced, not refused.
  return root.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<DescribedKernel> parse_description(std::string_view json) {
  if (json.empty())
    throw std::runtime_error(
        "the process that lists the kernels printed nothing; did a library end it while it was loaded?");
  try {
    const auto root = nlohmann::json::parse(json);
    if (root.at("format") != kFormat)
      throw std::runtime_error(
          fmt::format("the list of kernels has format {} instead of {}", root.at("format").dump(), kFormat));
    std::vector<DescribedKernel> kernels;
    for (const auto& k : root.at("kernels")) {
      DescribedKernel d;
      d.schema = k.at("schema").get<std::string>();
      d.name = k.at("name").get<std::string>();
      d.contract = k.at("contract").get<std::string>();
      d.source = k.at("source").get<std::string>();
      d.flags = k.at("flags").get<std::uint32_t>();
      d.environment = k.at("environment").get<std::string>();
      d.unavailable = k.at("unavailable").get<std::string>();
      d.plugin = root.at("plugin").get<std::string>();
      d.version = root.at("version").get<std::string>();
      kernels.push_back(std::move(d));
    }
    return kernels;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(
        fmt::format("the list of kernels is not what it should be: {}", json_error(error)));
  }
}

}  // namespace assay
