// read_plugin_table: what a library says that it has, before anything of it is believed.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <sstream>
#include <utility>

#include "load.h"
#include "reports/utf8.h"

namespace assay {

namespace {

// What an entry of the first ABI holds; later ones only add fields at the end.
constexpr std::uint32_t kLeastKernelBytes = offsetof(assay_kernel, context) + sizeof(assay_kernel::context);
// Beyond any table of this ABI and of later ones: such numbers are not what they should be, and what they lead to is not
// the library's memory.
constexpr std::uint32_t kMostKernelBytes = 4096;
constexpr std::uint64_t kMostKernels = 100'000;

void check_kernel(const assay_kernel& k, std::size_t number, const std::string& path) {
  const auto fail = [&](const std::string& what) {
    const std::string schema = k.schema != nullptr ? fmt::format(" ({})", k.schema) : "";
    throw PluginError(fmt::format("{}: kernel {}{} {}", path, number, schema, what));
  };
  if (k.size < kLeastKernelBytes)
    fail(fmt::format("says that it has {} bytes, an assay_kernel has {}; set .size = sizeof(assay_kernel)",
                     k.size, kLeastKernelBytes));
  if (k.schema == nullptr)
    fail("has no schema (it is NULL); state one, for example \"relu(Tensor self) -> Tensor\"");
  if (k.run == nullptr) fail("has no function `run` (it is NULL)");
  const bool has_body =
      std::strchr(k.schema, '{') != nullptr;  // it is a graph, whose clauses and statements are lines
  for (const char* text : {has_body ? nullptr : k.schema, k.name})
    if (text != nullptr && std::strpbrk(text, "\n\r") != nullptr)
      fail("has a line break in its schema or name");
  for (const std::string_view text : {k.schema, k.name != nullptr ? k.name : ""})
    for (std::size_t i = 0; i < text.size();) {
      const CodePoint c = code_point(text, i);
      if (c.length == 0) fail("has a schema or a name that is not UTF-8");
      i += c.length;
    }
  std::istringstream variables(k.environment != nullptr ? k.environment : "");
  for (std::string variable; std::getline(variables, variable, ' ');)
    if (!variable.empty() && (variable.find('=') == std::string::npos || variable.starts_with('=')))
      fail(fmt::format("{}{}has \"{}\" in its .environment: write NAME=VALUE, and spaces between several",
                       k.name != nullptr ? k.name : "", k.name != nullptr ? " " : "", variable));
}

}  // namespace

WorkerTable read_plugin_table(const assay_plugin* plugin, const std::string& given) {
  if (plugin == nullptr)
    throw PluginError(fmt::format("{}: assay_plugin_v1 returned NULL instead of a table", given));
  if (plugin->abi_version != ASSAY_ABI_VERSION)
    throw PluginError(
        fmt::format("{}: is built for version {} of the kernel ABI; this Assay speaks version {}: build it "
                    "with this Assay's assay/kernel.h",
                    given, plugin->abi_version, ASSAY_ABI_VERSION));
  if (plugin->kernel_size < kLeastKernelBytes)
    throw PluginError(
        fmt::format("{}: says that a kernel has {} bytes, an assay_kernel has {}; set kernel_size to "
                    "sizeof(assay_kernel)",
                    given, plugin->kernel_size, kLeastKernelBytes));
  if (plugin->kernel_size > kMostKernelBytes)
    throw PluginError(
        fmt::format("{}: says that a kernel has {} bytes; set kernel_size to sizeof(assay_kernel)", given,
                    plugin->kernel_size));
  if (plugin->kernel_count > kMostKernels)
    throw PluginError(
        fmt::format("{}: says that it has {} kernels; set kernel_count to the length of their table", given,
                    plugin->kernel_count));
  if (plugin->kernel_count == 0)
    throw PluginError(fmt::format("{}: has no kernels (kernel_count is 0)", given));
  if (plugin->kernels == nullptr)
    throw PluginError(
        fmt::format("{}: says that it has {} kernels, but their table is NULL", given, plugin->kernel_count));

  WorkerTable table;
  table.plugin = plugin->name != nullptr ? plugin->name : "";
  table.version = plugin->version != nullptr ? plugin->version : "";
  std::set<std::pair<std::string, std::string>> known;
  for (std::uint64_t i = 0; i < plugin->kernel_count; ++i) {
    // The library's entries may be shorter or longer than ours: its header is another version's.
    const auto* entry = reinterpret_cast<const std::byte*>(plugin->kernels) + i * plugin->kernel_size;
    assay_kernel k{};
    std::memcpy(&k, entry, std::min<std::size_t>(plugin->kernel_size, sizeof(k)));
    check_kernel(k, i, given);
    if (!known.emplace(k.schema, k.name != nullptr ? k.name : "").second)
      throw PluginError(fmt::format("{}: kernel {} ({}) has the name of an earlier one, {}", given, i,
                                    k.schema, k.name != nullptr ? k.name : "(none)"));
    table.kernels.push_back(k);
  }
  return table;
}

}  // namespace assay
