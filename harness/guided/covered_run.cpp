#include "covered_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "../registry/subprocess.h"

namespace assay {

CoveredRun::Library CoveredRun::read_library(const Key& key) {
  const auto& [program, arguments] = key;
  Library library;
  library.name = std::filesystem::path(arguments.empty() ? program : arguments.back()).filename().string();
  const auto without = [&](std::string why) {
    library.reason = std::move(why);
    return library;
  };
  if (!can_record_coverage())
    return without("this build of Assay has sanitizers, which keep it from recording what code runs");
  std::vector<std::string> words{"worker", "--blocks"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Finished finished = run_program(program, words, {fmt::format("{}=1", kCoverageVariable)});
  if (finished.status != 0)
    return without(fmt::format("{}: the process that lists its blocks ended with status {}: {}", library.name,
                               finished.status, finished.err));
  std::vector<CoveredModule> modules;
  try {
    modules = parse_blocks(finished.out);
  } catch (const std::runtime_error& e) {
    return without(fmt::format("{}: {}", library.name, e.what()));
  }
  if (modules.empty())
    return without(
        arguments.empty()
            ? "kernels that are part of the program itself are not instrumented; build their plugin so"
            : fmt::format("{} is not instrumented, so nothing is known of the code that ran: {}",
                          library.name, kHowToInstrument));
  std::vector<SourcePlace> places;
  std::string missing;
  for (const CoveredModule& m : modules) {
    const std::size_t first = places.size();
    std::vector<std::uint64_t> addresses;
    // What follows a call may be the next line's.
    for (const CoveredModule::Block& b : m.blocks)
      addresses.push_back(m.by_calls ? b.address - 1 : b.address);
    Symbols symbols = find_symbols(m.path, addresses);
    std::ranges::move(symbols.places, std::back_inserter(places));
    take_lines_from_before(addresses, std::span(places).subspan(first));
    if (!symbols.missing.empty()) missing = symbols.missing;
  }
  library.map = CodeMap(std::move(modules), std::move(places), std::move(missing));
  library.ran.resize(library.map.blocks());
  return library;
}

CoveredRun::CoveredRun(std::span<const Kernel* const> kernels) {
  for (const Kernel* k : kernels)
    if (!libraries_.contains(key_of(*k))) libraries_.emplace(key_of(*k), read_library(key_of(*k)));
}

void CoveredRun::saw(const RowKey& row, const std::shared_ptr<RanCode>& ran, bool judged) {
  if (!ran) return;
  Library& library = libraries_.at(key_of(*row.first));
  RowState& state = rows_[row];
  state.ran.resize(library.map.blocks());
  state.cut = state.cut || ran->cut;
  const Ran how = judged ? Ran::judged : Ran::unjudged;
  for (const std::uint32_t b : ran->blocks) {
    if (b >= library.ran.size()) continue;
    library.ran[b] = std::max(library.ran[b], how);
    state.ran[b] = std::max(state.ran[b], how);
  }
}

void CoveredRun::drew(const RowKey& row, const std::shared_ptr<RanCode>& ran, bool judged) {
  const auto judged_blocks = [&] { return std::ranges::count(rows_[row].ran, Ran::judged); };
  const auto before = judged_blocks();
  saw(row, ran, judged);
  ++rows_[row].drawn;
  rows_[row].reached += static_cast<std::uint64_t>(judged_blocks() - before);
}

std::optional<CodeCoverage> CoveredRun::of_row(const RowKey& row) const {
  const auto found = libraries_.find(key_of(*row.first));
  if (found == libraries_.end()) return std::nullopt;
  const Library& library = found->second;
  CodeCoverage c;
  if (library.map.blocks() == 0) {
    c.reason = library.reason;
    return c;
  }
  const auto state = rows_.find(row);
  if (state == rows_.end()) {
    c.reason = "none of its calls has run";
    return c;
  }
  c = library.map.of_row(state->second.ran);
  c.drawn = state->second.drawn;
  c.reached = state->second.reached;
  c.cut = state->second.cut;
  return c;
}

std::vector<LibraryCoverage> CoveredRun::libraries() const {
  std::vector<LibraryCoverage> all;
  for (const auto& [key, library] : libraries_) {
    LibraryCoverage c = library.map.blocks() > 0 ? library.map.of_library(library.ran) : LibraryCoverage{};
    c.library = library.name;
    if (library.map.blocks() == 0) c.reason = library.reason;
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace assay
