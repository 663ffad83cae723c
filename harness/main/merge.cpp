// assay merge
#include "reports/merge.h"

#include <fmt/format.h>

#include "commands.h"
#include "reports/row.h"
#include "reports/run_file.h"
#include "reports/table.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

struct MergeFlags {
  std::vector<std::string> files;
  std::string output;
};

int merge_command(const MergeFlags& flags) {
  check_files({{"--output", flags.output}}, flags.files);
  std::vector<Shard> shards;
  for (const std::string& f : flags.files) shards.push_back({f, read_run_file(f)});
  Merged merged;
  try {
    merged = merge(std::move(shards));
  } catch (const MergeError& e) {
    throw UsageError(e.what());
  }
  for (const std::string& w : merged.warnings) complain("warning: " + w);
  write_run_file(flags.output, merged.run);
  if (flags.output != "-") fmt::print("{}", table(merged.run, {}, {.colour = use_colour()}));
  const int code = exit_code(merged.run);
  if (code == kFaultFound || merged.missing.empty()) return code;
  throw UsageError(fmt::format("{}: without it nobody knows whether the run passed", merged.missing));
}

}  // namespace

void add_merge(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("merge", "Join the run files of shards");
  command->footer(
      "  assay verify --shard 1/2 --json a.json; assay verify --shard 2/2 --json b.json\n"
      "  assay merge a.json b.json -o all.json\n"
      "Exits as the whole run would have; with 2 if a shard is missing and the others have no fault.");
  auto flags = std::make_shared<MergeFlags>();
  command->add_option("RUN", flags->files, "run files (.json)")->required()->type_name("");
  command->add_option("-o,--output", flags->output, "the joined run file; - is standard output")
      ->required()
      ->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return merge_command(*flags); }; });
}

}  // namespace assay
