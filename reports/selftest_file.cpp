#include "selftest_file.h"

#include <fmt/format.h>

#include "json_reader.h"

namespace assay {
namespace {

constexpr std::string_view kSelftestFormat = "assay.selftest/1";

std::map<std::string, bool> read_by(const JsonReader& value) {
  std::map<std::string, bool> by;
  if (const JsonReader::Optional found = value.find("by"))
    for (const auto& [name, it] : found->members()) by[name] = it.boolean();
  return by;
}

PlantedFault read_planted(const JsonReader& value) {
  PlantedFault p;
  p.op = value.at("op").text();
  p.dtype = value.at("dtype").text();
  p.variant = value.at("variant").text();
  p.says = value.text_or("says", "");
  p.found = value.at("found").boolean();
  p.case_text = value.text_or("case", "");
  p.unobservable = value.text_or("unobservable", "");
  p.by = read_by(value);
  return p;
}

RightKernel read_control(const JsonReader& value) {
  RightKernel c;
  c.op = value.at("op").text();
  c.dtype = value.at("dtype").text();
  c.kernel = value.at("kernel").text();
  c.alarm = value.text_or("alarm", "");
  c.by = read_by(value);
  return c;
}

}  // namespace

void MutationScore::add(const PlantedFault& fault) {
  if (!fault.unobservable.empty()) {
    ++unobservable;
    return;
  }
  ++observable;
  found += fault.found ? 1 : 0;
  for (const auto& [name, it] : fault.by) by[name] += it ? 1 : 0;
}

MutationScore score_of(const SelftestFile& file) {
  MutationScore score;
  for (const PlantedFault& p : file.planted) score.add(p);
  return score;
}

SelftestFile selftest_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonReader root = document.root();
  const JsonReader format = root.at("format");
  if (format.text() != kSelftestFormat)
    format.fail(
        fmt::format("it is \"{}\", so this is no self-test file ({})", format.text(), kSelftestFormat));
  SelftestFile file;
  file.name = name;
  file.seed = root.count_or("seed", 0);
  if (const JsonReader::Optional seconds = root.find("seconds")) file.seconds = seconds->number();
  if (const JsonReader::Optional complete = root.find("complete")) file.complete = complete->boolean();
  for (const JsonReader& p : root.at("planted").items()) file.planted.push_back(read_planted(p));
  if (const JsonReader::Optional controls = root.find("controls"))
    for (const JsonReader& c : controls->items()) file.controls.push_back(read_control(c));
  return file;
}

}  // namespace assay
