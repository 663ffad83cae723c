#include "counted_line.h"

#include <map>
#include <tuple>

namespace assay {

std::vector<CountedLine> summed(const std::vector<CountedLine>& counted) {
  std::map<std::tuple<std::string, std::string, std::string>, CountedLine> lines;
  for (const CountedLine& c : counted) {
    CountedLine& line =
        lines.try_emplace({c.kernel, c.place, c.access}, CountedLine{c.place, c.kernel, c.access})
            .first->second;
    line.requests += c.requests;
    line.units += c.units;
    line.least += c.least;
  }
  std::vector<CountedLine> all;
  for (auto& [key, line] : lines) all.push_back(std::move(line));
  std::ranges::stable_sort(all, std::ranges::greater{}, &CountedLine::wasted);
  return all;
}

}  // namespace assay
