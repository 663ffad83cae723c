#include "context.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "../registry/machine.h"
#include "../registry/subprocess.h"
#include "cache_state.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// "always" of "[always] madvise never".
std::string chosen(const std::string& line) {
  const std::size_t begin = line.find('['), end = line.find(']');
  return begin < end && end != std::string::npos ? line.substr(begin + 1, end - begin - 1) : line;
}

std::vector<std::string> command_line() {
  std::ifstream in("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

std::string machine_fingerprint() {
  const Machine m = machine();
  const CacheSizes cache = cache_sizes();
  utsname system{};
  uname(&system);
  const std::string pages = chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return fmt::format("{}; {}; L1 {}K L2 {}K L3 {}K; {} {}; huge pages {}; governor {}", m.cpu,
                     fmt::join(m.isa, " "), cache.l1 >> 10, cache.l2 >> 10, cache.l3 >> 10, system.sysname,
                     system.release, pages.empty() ? "unknown" : pages,
                     governor.empty() ? "unknown" : governor);
}

std::string commit_here() {
  const NoStop whole;  // a file of results names it, of an interrupted run, too
  const Finished head =
      run_program("/usr/bin/git", {"describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"});
  return head.started && head.status == 0 ? head.out.substr(0, head.out.find('\n')) : std::string();
}

nlohmann::ordered_json bench_context(const Placements& placements, const std::string& commit) {
  const Machine m = machine();
  std::vector<std::string> notes;
  for (const auto& [threads, p] : placements)
    for (const std::string& note : p.notes)
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  return {{"format", "assay.bench/1"},
          {"command", command_line()},
          {"machine",
           {{"cpu", m.cpu},
            {"cores", m.cores},
            {"isa", m.isa},
            {"libraries", m.libraries},
            {"compiler", m.compiler},
            {"version", m.version},
            {"fingerprint", machine_fingerprint()}}},
          {"commit", commit},
          {"placement", fmt::format("{}", fmt::join(numactl_lines(placements), "; "))},
          {"notes", notes}};
}

}  // namespace assay
