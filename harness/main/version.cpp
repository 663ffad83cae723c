// assay --version
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "../registry/configured.h"
#include "../registry/machine.h"
#include "commands.h"
#include "commit.h"

namespace assay {
namespace {

// Their models, as the driver lists them in files: no driver is started for it.
std::string device_models() {
  std::string all;
  std::error_code none;
  for (const auto& device : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    std::ifstream information(device.path() / "information");
    for (std::string line; std::getline(information, line);)
      if (line.starts_with("Model:"))
        all +=
            (all.empty() ? "" : ", ") + line.substr(std::min(line.find_first_not_of(" \t", 6), line.size()));
  }
  return all.empty() ? "a device" : all;
}

std::string cuda(const Registry& registry) {
  std::optional<std::string> found;
  for (const Kernel& k : registry.kernels())
    if (k.name == "cuda.gpu") found = without_words(Verdict::not_run, k.unavailable);
  if (*configured::cuda_toolkit == '\0') return found ? "not built: " + *found : "not built";
  const std::string why = found.value_or("the part cuda, which looks for a device, is not built here");
  return fmt::format("toolkit {}; {}", configured::cuda_toolkit, why.empty() ? device_models() : why);
}

}  // namespace

std::string version_text() {
  const Machine m = machine();
  std::string s = fmt::format("assay {}{}\ncompiler  {}\ncpu       {}, {} core{}\nisa       {}\n", m.version,
                              built_from.empty() ? "" : fmt::format(" ({})", built_from), m.compiler, m.cpu,
                              m.cores, m.cores == 1 ? "" : "s", fmt::join(m.isa, " "));
  for (const auto& [library, version] : m.libraries) s += fmt::format("{:<9} {}\n", library, version);
  // The oracle is asked itself: what counts is what it finds when it starts.
  Registry registry(this_program());
  registry.add_torch();
  std::string torch = "no operator";
  for (const Kernel& k : registry.kernels())
    if (k.name == "torch") {
      torch = k.unavailable.empty() ? "found" : k.unavailable;
      if (k.unavailable.empty()) break;
    }
  return s + fmt::format("{:<9} {}\n{:<9} {}", "CUDA", cuda(registry), "PyTorch", torch);
}

}  // namespace assay
