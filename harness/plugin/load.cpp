#include "load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "../run/loading.h"
#include "private_copy.h"

namespace assay {

namespace {

void check_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw PluginError(fmt::format("{}: there is no such file", path));
  if (!std::filesystem::is_regular_file(status)) throw PluginError(fmt::format("{}: is not a file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw PluginError(fmt::format("{}: cannot be read", path));
  std::array<char, 4> magic{};
  file.read(magic.data(), magic.size());
  if (std::memcmp(magic.data(), "\177ELF", magic.size()) != 0)
    throw PluginError(fmt::format("{}: is not a shared library; build one with cc -shared -fPIC", path));
}

void check_timing(const assay_device_timing& t, const std::string& path) {
  const auto fail = [&](const std::string& what) {
    throw PluginError(fmt::format("{}: its assay_device_timing {}", path, what));
  };
  if (t.size < sizeof t)
    fail(fmt::format("has {} bytes, this Assay's {}; set size to sizeof(assay_device_timing)", t.size,
                     sizeof t));
  if (t.device == nullptr || t.cache_bytes == nullptr || t.hold == nullptr || t.time == nullptr ||
      t.fetch == nullptr || t.release == nullptr || t.stream == nullptr || t.arithmetic == nullptr)
    fail("lacks a function (it is NULL)");
  if (t.most_calls < ASSAY_FEWEST_CALLS)
    fail(fmt::format("says that time() takes at most {} calls at once; it must take {}", t.most_calls,
                     static_cast<int>(ASSAY_FEWEST_CALLS)));
}

}  // namespace

WorkerTable load_plugin_table(const std::string& given) {
  // With a slash in it, so that dlopen looks at this file and nowhere else.
  const std::string path = std::filesystem::absolute(private_copy_of(given)).string();
  check_file(path == std::filesystem::absolute(given) ? given : path);
  void* library = [&] {
    const LoadingLimit limit("what the library runs when it is loaded (its constructors)");
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  if (library == nullptr) throw PluginError(fmt::format("{}: cannot be loaded: {}", given, dlerror()));
  void* symbol = dlsym(library, "assay_plugin_v1");
  if (symbol == nullptr)
    throw PluginError(
        fmt::format("{}: exports no function assay_plugin_v1; include <assay/kernel.h>, define it as the "
                    "comment there shows, and in C++ as extern \"C\"",
                    given));
  const assay_plugin* plugin = [&] {
    const LoadingLimit limit("assay_plugin_v1()");
    return reinterpret_cast<const assay_plugin* (*)()>(symbol)();
  }();
  WorkerTable table = read_plugin_table(plugin, given);
  if (void* const timing = dlsym(library, "assay_device_timing_v1"))
    table.timing = reinterpret_cast<const assay_device_timing* (*)()>(timing)();
  if (table.timing != nullptr) check_timing(*table.timing, given);
  return table;
}

}  // namespace assay
