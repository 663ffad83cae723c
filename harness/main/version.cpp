// assay --version
#include <fmt/format.h>

#include "../verify/machine.h"
#include "commands.h"

namespace assay {

std::string version_text() {
  const Machine m = machine();
  std::string s = fmt::format("assay {}\ncompiler  {}\ncpu       {}, {} core{}\nisa       {}\n", m.version,
                              m.compiler, m.cpu, m.cores, m.cores == 1 ? "" : "s", fmt::join(m.isa, " "));
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
  s += fmt::format("{:<9} {}\n{:<9} {}", "PyTorch", torch, "devices",
                   "none used: this build runs kernels on the CPU only");
  return s;
}

}  // namespace assay
