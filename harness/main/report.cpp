// assay report
#include <fmt/format.h>

#include <filesystem>

#include "commands.h"
#include "report_files.h"
#include "reports/drawings.h"
#include "reports/file.h"
#include "reports/gzip.h"
#include "reports/html.h"
#include "reports/junit_report.h"
#include "reports/markdown.h"
#include "reports/run_file.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

constexpr const char* kDefaultReport = "report.html";

struct ReportFlags {
  std::vector<std::string> files;
  std::string html, markdown, junit, pictures, title = "Assay report", base, history;
};

int report_command(ReportFlags& flags) {
  const bool chosen =
      !flags.html.empty() || !flags.markdown.empty() || !flags.junit.empty() || !flags.pictures.empty();
  if (!chosen) flags.html = kDefaultReport;
  std::vector<std::string> inputs = flags.files;
  inputs.insert(inputs.end(), {flags.base, flags.history});
  check_files({{"--html", flags.html}, {"--markdown", flags.markdown}, {"--junit", flags.junit}}, inputs);
  for (std::size_t i = 0; i < flags.files.size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      if (same_place(flags.files[i], flags.files[other]))
        throw UsageError(fmt::format("{} and {} are the same file: what it says would count twice",
                                     flags.files[other], flags.files[i]));
  Report report;
  report.title = flags.title;
  for (const std::string& file : flags.files) read_into(report, file);
  if (!flags.base.empty()) report.base = ReportedRun{flags.base, read_run_file(flags.base), {}};
  if (report.base && report.runs.empty())
    throw UsageError(
        fmt::format("--base {}: there is no run of `assay verify` to compare it with", flags.base));
  if (!flags.history.empty() && report.benches.empty())
    throw UsageError(
        fmt::format("--history {}: there is no benchmark file that it belongs to", flags.history));
  if (!flags.history.empty()) report.history = history_from_json(read_text(flags.history), flags.history);
  if (!flags.html.empty() || !flags.pictures.empty())
    for (ReportedRun& run : report.runs) add_pictures(run, run.name);
  if (!flags.html.empty()) write_file(flags.html, html(report));
  if (!flags.pictures.empty()) {
    const std::vector<Drawing> all = drawings(report);
    for (const Drawing& d : all)
      write_file((std::filesystem::path(flags.pictures) / (d.name + ".svg")).string(), d.svg);
    if (all.empty()) complain("--pictures: these results have nothing to draw");
  }
  if (!flags.markdown.empty()) write_file(flags.markdown, markdown(report));
  if (!flags.junit.empty()) write_file(flags.junit, junit(report));
  if (!chosen) fmt::print("{}\n", flags.html);
  return kAllWell;
}

}  // namespace

void add_report(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("report", "Make a page, a job summary or JUnit XML of results");
  command->footer(
      "FILE is any of: run files (`assay verify --json F`), self-tests (`assay selftest --json F`), and benchmark files of\n"
      "Assay; each says itself which it is. Several of a kind become parts of one report, one after the other.\n"
      "The page is one file and needs no network: the verdict comes first, then faults with the commands that replay them and\n"
      "pictures of where tensors diverge (from the case files, if they are there), the matrix of operators, kernels and\n"
      "dtypes, how close results come to their bounds, peers that disagree, what was not covered, all rows in a table that\n"
      "sorts and filters, which planted faults were found, and how fast kernels are against limits, peers and the past.\n"
      "A click on a row gives it an address, to be sent to others.\n\n"
      "  assay report run.json                                report.html\n"
      "  assay report run.json selftest.json bench.json --html all.html --title 'nightly, AVX-512 machine'\n"
      "  assay report run.json --markdown \"$GITHUB_STEP_SUMMARY\"\n"
      "  assay report new.json --base old.json                what is covered no more, too\n"
      "  assay report bench.json --history history.json       with the course of each kernel beside it\n"
      "  assay report bench.json --pictures pictures          its charts alone, for other documents\n\n"
      "Exit code 0: written; a report does not judge. 2: a file cannot be read.");
  auto flags = std::make_shared<ReportFlags>();
  command->add_option("FILE", flags->files, "results (.json)")->required()->type_name("");
  command
      ->add_option(
          "--html", flags->html,
          fmt::format("write the page; - is standard output (default, if nothing else is asked for: {})",
                      kDefaultReport))
      ->type_name("F");
  command->add_option("--markdown", flags->markdown, "write a job summary; - is standard output")
      ->type_name("F");
  command->add_option("--junit", flags->junit, "write JUnit XML; - is standard output")->type_name("F");
  command
      ->add_option(
          "--pictures", flags->pictures,
          "write the page's charts into this folder, each as an SVG of its own: roofline.svg, time-over-peer.svg, "
          "tensor.svg, ...; a second one of a kind is roofline-2.svg")
      ->type_name("DIR");
  command->add_option("--title", flags->title, "what stands above it")
      ->capture_default_str()
      ->type_name("TEXT");
  command
      ->add_option("--base", flags->base,
                   "an older run file: rows and cases that it has and FILE lacks are listed as lost")
      ->type_name("OLD.json");
  command->add_option("--history", flags->history, "what benchmarks came to before (assay.history/1)")
      ->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return report_command(*flags); }; });
}

}  // namespace assay
