#include "short_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "text.h"

namespace assay {
namespace {

// The run's own command, thorough; of a shard, or of a run whose command is not known, the plain one.
std::string thorough_command(const RunResult& run) {
  std::string words = "assay verify";
  const bool whole = !run.shard && run.command.size() >= 2 && run.command[1] == "verify";
  for (std::size_t i = 2; whole && i < run.command.size(); ++i) {
    if (run.command[i].starts_with("--shard")) return "assay verify --thorough";
    words += " " + shell_word(run.command[i]);
  }
  return words + " --thorough";
}

}  // namespace

std::string short_run_note(const RunResult& run) {
  if (!run.short_run || !run.complete) return {};
  const ShortRun& part = *run.short_run;
  std::vector<std::string> left_out;
  if (run.cases_not_run > 0) left_out.push_back(counted(run.cases_not_run, "generated case"));
  std::map<std::uint64_t, std::vector<std::string>> peers;
  for (const auto& [kernel, cases] : part.sampled)
    if (cases < part.cases) peers[cases].push_back(kernel);
  for (const auto& [cases, kernels] : peers)
    left_out.push_back(
        fmt::format("after {}, the peers {}", counted(cases, "case"), fmt::join(kernels, ", ")));
  if (!part.left_out.empty())
    left_out.push_back(fmt::format("{} (CUDA kernels on the processor)", fmt::join(part.left_out, ", ")));
  if (!part.not_built.empty())
    left_out.push_back(fmt::format("the parts {}, which are not built", fmt::join(part.not_built, ", ")));
  if (left_out.empty()) return {};
  const std::string cases = part.cases < part.of ? fmt::format(": {} of {} for each operator and dtype",
                                                               grouped(part.cases), counted(part.of, "case"))
                                                 : "";
  return fmt::format("This was the short run{}. Left out: {}. All of them: {}", cases,
                     fmt::join(left_out, "; "), thorough_command(run));
}

}  // namespace assay
