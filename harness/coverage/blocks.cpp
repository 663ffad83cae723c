#include "blocks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/json_reader.h"

namespace assay {
namespace {

constexpr std::string_view kFormat = "assay.blocks/1";

}  // namespace

std::string description(const std::vector<CoveredModule>& modules) {
  nlohmann::ordered_json root{{"format", kFormat}, {"modules", nlohmann::json::array()}};
  for (const CoveredModule& m : modules) {
    std::vector<std::uint64_t> addresses, entries;
    for (std::size_t i = 0; i < m.blocks.size(); ++i) {
      addresses.push_back(m.blocks[i].address);
      if (m.blocks[i].entry) entries.push_back(i);
    }
    root["modules"].push_back(
        {{"path", m.path}, {"by_calls", m.by_calls}, {"blocks", addresses}, {"entries", entries}});
  }
  return root.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<CoveredModule> parse_blocks(std::string_view json) {
  try {
    const auto root = nlohmann::json::parse(json);
    if (root.at("format") != kFormat)
      throw std::runtime_error(
          fmt::format("the list of blocks has format {}, not {}", root.at("format").dump(), kFormat));
    std::vector<CoveredModule> modules;
    for (const auto& m : root.at("modules")) {
      CoveredModule module{m.at("path").get<std::string>(), m.at("by_calls").get<bool>(), {}};
      for (const auto& address : m.at("blocks"))
        module.blocks.push_back({address.get<std::uint64_t>(), false});
      for (const auto& position : m.at("entries")) module.blocks.at(position.get<std::size_t>()).entry = true;
      modules.push_back(std::move(module));
    }
    return modules;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(
        fmt::format("the list of blocks is not what it should be: {}", json_error(error)));
  } catch (const std::out_of_range&) {
    throw std::runtime_error("the list of blocks has an entry that is no block");
  }
}

}  // namespace assay
