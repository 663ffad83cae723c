#include "machine.h"

#include <H5public.h>
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <thread>

#include "configured.h"
#include "vocabulary/kernel.h"

#ifdef ASSAY_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace assay {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace

Machine machine() {
  Machine m;
  m.cpu = cpu_name();
  m.cores = static_cast<int>(std::thread::hardware_concurrency());
  std::set<std::string> levels;
  for (const EnrolledKernel& e : enrolled_kernels()) {
    const std::string name = e.kernel.name == nullptr ? "" : e.kernel.name;
    if (!name.starts_with("cpu.")) continue;
    if (e.kernel.unavailable == nullptr || e.kernel.unavailable() == nullptr)
      levels.insert(name.substr(4, name.find('.', 4) - 4));
  }
  m.isa.assign(levels.begin(), levels.end());
  m.libraries["HDF5"] = hdf5_version();
#ifdef ASSAY_HAVE_ONEDNN
  const dnnl_version_t* v = dnnl_version();
  m.libraries["oneDNN"] = fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
#else
  m.libraries["oneDNN"] = fmt::format("missing: {}", configured::lacks_onednn);
#endif
#if defined(__clang__)
  m.compiler = "clang " __clang_version__;
#else
  m.compiler = "gcc " __VERSION__;
#endif
  m.version = ASSAY_VERSION;
  return m;
}

}  // namespace assay
