#include "code_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace assay {
namespace {

// As seen from where the program runs, if it is below.
std::string short_path(const std::string& file) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string() + "/";
  return !error && file.starts_with(here) ? file.substr(here.size()) : file;
}

}  // namespace

std::string line_ranges(std::span<const CountedSourceLine> lines) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].not_run == 0) continue;
    if (lines[i].ran > 0) {
      parts.push_back(fmt::format("{} (in part)", lines[i].line));
      continue;
    }
    std::size_t last = i;
    while (last + 1 < lines.size() && lines[last + 1].not_run > 0 && lines[last + 1].ran == 0) ++last;
    parts.push_back(last == i ? fmt::format("{}", lines[i].line)
                              : fmt::format("{}-{}", lines[i].line, lines[last].line));
    i = last;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

CodeMap::CodeMap(std::vector<CoveredModule> modules, std::vector<SourcePlace> places, std::string missing)
    : modules_(std::move(modules)), places_(std::move(places)), missing_(std::move(missing)) {
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> known;
  for (std::size_t m = 0; m < modules_.size(); ++m)
    for (const CoveredModule::Block& b : modules_[m].blocks) {
      const std::size_t i = addresses_.size();
      addresses_.push_back(b.address);
      module_of_.push_back(m);
      // Without symbols, a table tells where functions begin.
      std::string name = i < places_.size() ? places_[i].compiled_in : "";
      if (name.empty() && (b.entry || function_of_.empty() || module_of_[i - (i > 0 ? 1 : 0)] != m))
        name = fmt::format("+{:#x}", b.address);
      if (name.empty()) {
        function_of_.push_back(function_of_.back());
        continue;
      }
      function_of_.push_back(known.emplace(std::tuple(m, name, std::string()), functions_).first->second);
      functions_ = known.size();
    }
  places_.resize(addresses_.size());
}

std::vector<CodeGap> CodeMap::gaps(std::span<const Ran> ran, std::span<const std::size_t> blocks) const {
  struct Source {
    std::map<std::uint32_t, CountedSourceLine> lines;
    std::uint64_t blocks = 0;
    bool unjudged = true;
    std::size_t first = 0;
  };
  // Machine code of one function of the source that stands in several places is one thing to read.
  std::map<std::pair<std::string, std::string>, Source> sources;
  for (const std::size_t b : blocks) {
    const SourcePlace& p = places_[b];
    const std::string function = p.function.empty() ? "" : short_function(p.function);
    Source& s = sources[{short_path(p.file), function}];
    if (s.blocks == 0) s.first = b;
    CountedSourceLine& line = s.lines[p.line];
    line.line = p.line;
    if (ran[b] == Ran::judged) {
      ++line.ran;
      continue;
    }
    ++line.not_run;
    ++s.blocks;
    if (ran[b] == Ran::not_run) s.unjudged = false;
  }
  std::vector<CodeGap> found;
  for (const auto& [key, s] : sources) {
    if (s.blocks == 0) continue;
    CodeGap gap{key.second, key.first, {}, s.blocks, s.unjudged};
    std::vector<CountedSourceLine> lines;
    for (const auto& [number, line] : s.lines) lines.push_back(line);
    if (key.first.empty()) {  // offsets are what there is
      std::vector<std::string> places;
      for (const std::size_t b : blocks)
        if (ran[b] != Ran::judged && places_[b].file.empty() &&
            (places_[b].function.empty() ? "" : short_function(places_[b].function)) == key.second)
          places.push_back(
              fmt::format("{}+{:#x}", std::filesystem::path(modules_[module_of_[b]].path).filename().string(),
                          addresses_[b]));
      gap.lines = fmt::format("{}", fmt::join(places, ", "));
    } else {
      gap.lines = line_ranges(lines);
    }
    found.push_back(std::move(gap));
  }
  // As they stand in the source.
  const auto line_of = [&](const CodeGap& g) {
    return sources.at({g.file, g.function}).lines.begin()->first;
  };
  std::ranges::stable_sort(found, [&](const CodeGap& a, const CodeGap& b) {
    return std::pair(a.file, line_of(a)) < std::pair(b.file, line_of(b));
  });
  return found;
}

std::string CodeMap::name_of(std::span<const std::size_t> blocks) const {
  std::set<std::string> files;
  for (const std::size_t b : blocks)
    if (!places_[b].file.empty()) files.insert(short_path(places_[b].file));
  if (files.size() == 1) return *files.begin();
  return blocks.empty() ? ""
                        : std::filesystem::path(modules_[module_of_[blocks[0]]].path).filename().string();
}

CodeCoverage CodeMap::of_row(std::span<const Ran> ran) const {
  std::vector<bool> entered(functions_);
  for (std::size_t b = 0; b < blocks(); ++b)
    if (ran[b] != Ran::not_run) entered[function_of_[b]] = true;
  std::vector<std::size_t> of;
  CodeCoverage c;
  for (std::size_t b = 0; b < blocks(); ++b) {
    if (!entered[function_of_[b]]) continue;
    of.push_back(b);
    c.ran += ran[b] == Ran::judged ? 1 : 0;
    c.unjudged += ran[b] == Ran::unjudged ? 1 : 0;
  }
  c.blocks = of.size();
  c.file = name_of(of);
  c.gaps = gaps(ran, of);
  return c;
}

LibraryCoverage CodeMap::of_library(std::span<const Ran> ran) const {
  LibraryCoverage c;
  c.reason = missing_;
  c.library = modules_.empty() ? "" : std::filesystem::path(modules_[0].path).filename().string();
  c.blocks = blocks();
  std::vector<bool> entered(functions_);
  std::map<std::string, std::map<std::uint32_t, CountedSourceLine>> lines;
  std::map<std::string, FileCoverage> files;
  for (std::size_t b = 0; b < blocks(); ++b) {
    if (ran[b] != Ran::not_run) entered[function_of_[b]] = true;
    c.ran += ran[b] == Ran::judged ? 1 : 0;
    c.unjudged += ran[b] == Ran::unjudged ? 1 : 0;
    const std::string file = short_path(places_[b].file);
    FileCoverage& f = files[file];
    f.file = file;
    ++f.blocks;
    f.ran += ran[b] == Ran::judged ? 1 : 0;
    CountedSourceLine& line = lines[file][places_[b].line];
    line.line = places_[b].line;
    ++(ran[b] == Ran::judged ? line.ran : line.not_run);
  }
  for (auto& [name, f] : files) {
    if (name.empty()) continue;
    for (const auto& [number, line] : lines[name])
      if (line.ran == 0) f.lines_not_run.push_back(number);
    c.files.push_back(f);
  }
  std::vector<std::size_t> never;
  for (std::size_t b = 0; b < blocks(); ++b)
    if (!entered[function_of_[b]]) never.push_back(b);
  c.never_entered = gaps(ran, never);
  return c;
}

}  // namespace assay
