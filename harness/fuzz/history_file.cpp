// History files: history_from_json() throws FileError that names the file, or gives series whose changes lie within their points.
#include "reports/history_file.h"

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      R"({"format":"assay.history/1","series":[{"op":"relu","case":"relu:f32:self=3","impl":"cpu","cache":"warm","threads":2,)"
      R"("machine":"m","points":[{"commit":"a","time":1,"ratio":0.9,"share":0.5},{"commit":"b","time":2,"ratio":null}],)"
      R"("changes":[{"index":1,"before":0.9,"after":1.1}]}]})",
      R"({"format":"assay.history/1","series":[{"op":"","case":"","impl":"","points":[]}]})",
      R"({"format":"assay.history/1","series":[]})"};
}

bool run(std::string_view input) {
  return accepted([&] {
    for (const HistorySeries& s : history_from_json(input, kInputName).series)
      for (const HistoryChange& c : s.changes)
        if (c.index >= s.points.size()) broken("a change after the last point");
  });
}

}  // namespace

const Target kHistoryFile{"history_file", seeds, run};

}  // namespace assay::fuzz
