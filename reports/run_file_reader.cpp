#include <fmt/format.h>

#include <cmath>

#include "journal.h"
#include "json_reader.h"
#include "machine_json.h"
#include "row.h"
#include "run_file.h"

namespace assay {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1}
                                        << 50;  // so that a share says how many, to the element

Verdict verdict(const JsonReader& value) {
  try {
    return verdict_of(value.text());
  } catch (const std::invalid_argument& error) {
    value.fail(error.what());
  }
}

Harmed read_harmed(const JsonReader& value) {
  Harmed h{.impl = value.at("impl").text(), .case_text = value.at("case").text()};
  if (const JsonReader::Optional repeated = value.find("repeated")) h.repeated = repeated->boolean();
  if (const JsonReader::Optional before = value.find("before"))
    for (const JsonReader& text : before->items()) h.before.push_back(text.text());
  if (const JsonReader::Optional repeats = value.find("after_repeats")) h.after_repeats = repeats->boolean();
  return h;
}

Failure read_failure(const JsonReader& value) {
  Failure f;
  f.case_text = value.at("case").text();
  f.index = value.count_or("index", 0);
  f.kind = verdict(value.at("kind"));
  f.detail = value.at("detail").text();
  f.replay = value.at("replay").text();
  f.plugin = value.text_or("plugin", "");
  f.contract = value.text_or("contract", "");
  f.diagnosis = value.at("diagnosis").text();
  if (const JsonReader::Optional harmed = value.find("harmed")) f.harmed = read_harmed(*harmed);
  const JsonReader::Optional harms_others = value.find("harms_others");
  f.harms_others =
      harms_others ? harms_others->boolean() : f.harmed.has_value();  // older files have the other one
  return f;
}

std::map<std::string, std::uint64_t> read_reasons(const JsonReader& value) {
  std::map<std::string, std::uint64_t> cases;
  for (const auto& [reason, n] : value.members()) cases[reason] = n.count();
  return cases;
}

void read_shares(const JsonReader& value, Row& row) {
  const JsonReader undecidable = value.at("undecidable");
  const double share = undecidable.number();
  if (!(share >= 0 && share <= 1)) undecidable.fail("expected a share from 0 to 1");
  if (share > 0 && !value.find("elements")) undecidable.fail("above 0, but the key elements is missing");
  row.elements = value.count_or("elements", 0);
  if (row.elements > kMostElements) value.at("elements").fail("more than a run can have");
  row.undecidable_elements =
      static_cast<std::uint64_t>(std::llround(share * static_cast<double>(row.elements)));
  row.undecidable_cases = value.count_or("undecidable_cases", share > kUndecidableLimit ? row.cases : 0);
}

void read_classes(const JsonReader& value, Row& row) {
  for (const auto& [name, n] : value.at("judged").members()) row.classes[name].judged = n.count();
  for (const auto& [name, n] : value.at("refused").members()) row.classes[name].refused = n.count();
  for (const auto& [name, reasons] : value.at("reasons").members())
    for (const JsonReader& reason : reasons.items()) row.classes[name].reasons.insert(reason.text());
}

void read_ordinary(const JsonReader& names, const std::string& op, RunResult& run) {
  for (const JsonReader& name : names.items())
    for (Row& row : run.rows)
      if (row.op == op && !row.classes.empty()) row.classes[name.text()].ordinary = true;
}

std::vector<CodeGap> read_code_gaps(const JsonReader& value) {
  std::vector<CodeGap> gaps;
  for (const JsonReader& g : value.items())
    gaps.push_back({g.at("function").text(), g.at("file").text(), g.at("lines").text(),
                    g.at("blocks").count(), g.at("unjudged").boolean()});
  return gaps;
}

CodeCoverage read_code(const JsonReader& value) {
  CodeCoverage c;
  c.reason = value.text_or("reason", "");
  if (!c.reason.empty()) return c;
  c.file = value.at("file").text();
  c.blocks = value.at("blocks").count();
  c.ran = value.at("ran").count();
  c.unjudged = value.at("unjudged").count();
  if (c.ran > c.blocks || c.unjudged > c.blocks - c.ran) value.at("ran").fail("more blocks than there are");
  c.drawn = value.at("drawn").count();
  c.reached = value.at("reached").count();
  c.cut = value.at("cut").boolean();
  c.gaps = read_code_gaps(value.at("not_run"));
  return c;
}

LibraryCoverage read_library(const JsonReader& value) {
  LibraryCoverage c{value.at("library").text(),
                    value.at("reason").text(),
                    value.at("blocks").count(),
                    value.at("ran").count(),
                    value.at("unjudged").count(),
                    {},
                    read_code_gaps(value.at("never_entered"))};
  if (c.ran > c.blocks || c.unjudged > c.blocks - c.ran) value.at("ran").fail("more blocks than there are");
  for (const JsonReader& f : value.at("files").items()) {
    FileCoverage& file = c.files.emplace_back(
        FileCoverage{f.at("file").text(), f.at("blocks").count(), f.at("ran").count(), {}});
    for (const JsonReader& line : f.at("lines_not_run").items()) file.lines_not_run.push_back(line.count());
  }
  return c;
}

void read_counts(const JsonReader& value, std::array<std::uint64_t, kVerdicts>& counts) {
  for (const auto& [name, cases] : value.members()) {
    try {
      counts[static_cast<std::size_t>(verdict_of(name))] = cases.count();
    } catch (const std::invalid_argument& error) {
      cases.fail(error.what());
    }
  }
}

void read_replaced(const JsonReader& value, Replaced& replaced) {
  read_counts(value.at("counts"), replaced.counts);
  replaced.refused = read_reasons(value.at("refused"));
  replaced.undeclared = read_reasons(value.at("undeclared"));
  replaced.needs = read_reasons(value.at("needs"));
}

// Files of older versions have none of it.
void read_coverage(const JsonReader& value, Row& row) {
  row.asked = value.count_or("asked", 0);
  row.judged = value.count_or("judged", 0);
  row.instead = value.count_or("instead", 0);
  if (row.instead > row.judged) value.at("instead").fail("more cases than were judged");
  if (const JsonReader::Optional classes = value.find("classes")) read_classes(*classes, row);
  if (const JsonReader::Optional code = value.find("coverage")) row.code = read_code(*code);
  if (const JsonReader::Optional strict = value.find("strict")) row.strict = strict->boolean();
  if (const JsonReader::Optional globs = value.find("may_refuse"))
    for (const JsonReader& glob : globs->items()) row.may_refuse.push_back(glob.text());
}

Row read_row(const JsonReader& value) {
  Row row;
  row.op = value.at("op").text();
  row.impl = value.at("impl").text();
  row.peer = value.at("peer").boolean();
  if (const JsonReader::Optional named = value.find("named")) row.named = named->boolean();
  if (const JsonReader::Optional literally = value.find("literally")) row.literally = literally->boolean();
  row.given_up = value.count_or("given_up", 0);
  row.dtype = value.at("dtype").text();
  const std::string said = value.at("verdict").text();
  const bool fails_otherwise = said == kUndeclaredRefusal || said == kGaps;
  if (!fails_otherwise) row.verdict = verdict(value.at("verdict"));
  row.cases = value.at("cases").count();
  read_counts(value.at("counts"), row.counts);
  if (const Verdict counted = row_verdict(row); is_fault(counted) && !is_fault(row.verdict))
    value.at("verdict").fail(
        fmt::format("it is {}, but counts has {} {}", said, count_of(row, counted), token(counted)));
  row.refused = read_reasons(value.at("refused"));
  if (const JsonReader::Optional undeclared = value.find("undeclared"))
    row.undeclared = read_reasons(*undeclared);
  if (const JsonReader::Optional needs = value.find("needs")) row.needs = read_reasons(*needs);
  read_shares(value, row);
  row.worst = value.at("worst").number();
  row.worst_case = value.text_or("worst_case", "");
  row.reason = value.at("reason").text();
  row.information = value.text_or("information", "");
  for (const JsonReader& failure : value.at("failures").items())
    row.failures.push_back(read_failure(failure));
  if (const JsonReader::Optional replaced = value.find("replaced")) read_replaced(*replaced, row.replaced);
  read_coverage(value, row);
  if (fails_otherwise) row.verdict = row_verdict(row);
  return row;
}

FixtureCount read_fixtures(const JsonReader& value) {
  FixtureCount f{value.at("source").text(), value.at("found").count(), read_reasons(value.at("left_out"))};
  std::uint64_t left = f.found;
  for (const auto& [reason, cases] : f.left_out) {
    if (cases > left)
      value.at("left_out").fail(fmt::format("more cases than the {} that were found", f.found));
    left -= cases;
  }
  return f;
}

ShortRun read_short_run(const JsonReader& value) {
  ShortRun part{value.at("budget").number(),
                value.at("cases").count(),
                value.at("of").count(),
                {},
                read_reasons(value.at("sampled"))};
  if (part.cases > part.of) value.at("cases").fail(fmt::format("more than the {} that there are", part.of));
  for (const auto& [kernel, cases] : part.sampled)
    if (cases > part.cases)
      value.at("sampled").fail(fmt::format("{} has more than the {} cases", kernel, part.cases));
  for (const JsonReader& kernel : value.at("left_out").items()) part.left_out.push_back(kernel.text());
  for (const JsonReader& name : value.at("not_built").items()) part.not_built.push_back(name.text());
  return part;
}

CountedLine read_access(const JsonReader& value) {
  return {.place = value.at("place").text(),
          .kernel = value.at("kernel").text(),
          .access = value.at("access").text(),
          .requests = value.at("requests").count(),
          .units = value.at("units").count(),
          .least = value.at("least").count()};
}

void require_format(const JsonReader& root) {
  const JsonReader format = root.at("format");
  const std::string text = format.text();
  if (text == kRunFormat) return;
  if (text.starts_with("assay.run/"))
    format.fail(fmt::format("it is {}, and this program reads {}: use a newer Assay", text, kRunFormat));
  format.fail(fmt::format("it is \"{}\", so this is no run file ({})", text, kRunFormat));
}

}  // namespace

RunResult run_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonReader root = document.root();
  require_format(root);
  RunResult run;
  for (const JsonReader& word : root.at("command").items()) run.command.push_back(word.text());
  run.machine = read_machine(root.at("machine"));
  run.seed = root.at("seed").count();
  run.contract = root.text_or("contract", "");
  if (const JsonReader::Optional seconds = root.find("seconds")) run.seconds = seconds->number();
  if (const JsonReader::Optional complete = root.find("complete")) run.complete = complete->boolean();
  run.incomplete = root.text_or("incomplete", "");
  run.cases_not_run = root.count_or("cases_not_run", 0);
  if (const JsonReader::Optional shard = root.find("shard")) run.shard = shard->text();
  if (const JsonReader::Optional part = root.find("short_run")) run.short_run = read_short_run(*part);
  if (const JsonReader::Optional fixtures = root.find("fixtures")) run.fixtures = read_fixtures(*fixtures);
  for (const JsonReader& row : root.at("results").items()) run.rows.push_back(read_row(row));
  if (const JsonReader::Optional ordinary = root.find("ordinary_classes"))
    for (const auto& [op, names] : ordinary->members()) read_ordinary(names, op, run);
  if (const JsonReader::Optional code = root.find("coverage"))
    for (const JsonReader& library : code->items()) run.code.push_back(read_library(library));
  if (const JsonReader::Optional accesses = root.find("accesses"))
    for (const JsonReader& line : accesses->items()) run.accesses.push_back(read_access(line));
  return run;
}

Row row_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  return read_row(document.root());
}

RunResult read_run_file(const std::string& path) { return run_from_json(read_document(path), path); }

}  // namespace assay
