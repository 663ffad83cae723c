#include "history_file.h"

#include <fmt/format.h>

#include <limits>

#include "json_reader.h"

namespace assay {
namespace {

constexpr std::string_view kHistoryFormat = "assay.history/1";

double number_or_nan(const JsonReader& value, const std::string& key) {
  const JsonReader::Optional found = value.find(key);
  return found ? found->number() : std::numeric_limits<double>::quiet_NaN();
}

HistorySeries read_series(const JsonReader& value) {
  HistorySeries s;
  s.op = value.at("op").text();
  s.case_text = value.at("case").text();
  s.impl = value.at("impl").text();
  s.cache = value.text_or("cache", "");
  s.threads = value.count_or("threads", 1);
  s.machine = value.text_or("machine", "");
  for (const JsonReader& p : value.at("points").items())
    s.points.push_back({p.text_or("commit", ""), number_or_nan(p, "time"), number_or_nan(p, "ratio"),
                        number_or_nan(p, "share")});
  if (const JsonReader::Optional changes = value.find("changes"))
    for (const JsonReader& c : changes->items()) {
      const JsonReader index = c.at("index");
      if (index.count() >= s.points.size())
        index.fail(fmt::format("there are only {} points", s.points.size()));
      s.changes.push_back({index.count(), number_or_nan(c, "before"), number_or_nan(c, "after")});
    }
  return s;
}

}  // namespace

HistoryFile history_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonReader root = document.root();
  const JsonReader format = root.at("format");
  if (format.text() != kHistoryFormat)
    format.fail(fmt::format("it is \"{}\", so this is no history file ({})", format.text(), kHistoryFormat));
  HistoryFile file;
  file.name = name;
  for (const JsonReader& s : root.at("series").items()) file.series.push_back(read_series(s));
  return file;
}

}  // namespace assay
