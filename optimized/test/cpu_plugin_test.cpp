// The CPU kernels as a plugin: two copies in one process stay two, so that two builds can be compared.
#include <dlfcn.h>

#include <filesystem>

#include "cpu_support.h"

namespace assay::test {
namespace {

struct Library {
  explicit Library(const std::filesystem::path& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) throw std::runtime_error(dlerror());
    plugin = reinterpret_cast<const assay_plugin* (*)()>(dlsym(handle, "assay_plugin_v1"))();
  }
  ~Library() { dlclose(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* handle;
  const assay_plugin* plugin = nullptr;
};

TEST(CpuPlugin, TwoCopiesStayTwo) {
  const auto copy =
      std::filesystem::temp_directory_path() / ("assay_cpu_plugin_" + std::to_string(getpid()) + ".so");
  std::filesystem::copy_file(ASSAY_CPU_PLUGIN, copy, std::filesystem::copy_options::overwrite_existing);
  {
    const Library first(ASSAY_CPU_PLUGIN), second(copy);
    ASSERT_NE(first.plugin, second.plugin);
    ASSERT_EQ(first.plugin->abi_version, ASSAY_ABI_VERSION);
    ASSERT_EQ(first.plugin->kernel_size, sizeof(assay_kernel));
    // Had the second enrolled in the first one's table, it would have twice as many.
    ASSERT_EQ(first.plugin->kernel_count, second.plugin->kernel_count);
    std::size_t linked = 0;
    for (const EnrolledKernel& e : enrolled_kernels())
      linked += std::string_view(e.kernel.name).starts_with("cpu.");
    ASSERT_EQ(first.plugin->kernel_count, linked);
    for (std::uint64_t i = 0; i < first.plugin->kernel_count; ++i) {
      const assay_kernel &a = first.plugin->kernels[i], &b = second.plugin->kernels[i];
      EXPECT_STREQ(a.schema, b.schema);
      EXPECT_STREQ(a.name, b.name);
      EXPECT_NE(a.run, b.run) << a.schema;
      EXPECT_TRUE(a.unavailable == nullptr || a.unavailable != b.unavailable) << a.schema;
      if (std::string_view(a.schema).starts_with("relu(") &&
          (a.unavailable == nullptr || a.unavailable() == nullptr)) {
        Tensor x(Dtype::f32, {100}), y(Dtype::f32, {100}), z(Dtype::f32, {100});
        x.fill(Normal(1));
        call(a, {value(x)}, {&y});
        call(b, {value(x)}, {&z});
        EXPECT_EQ(y.bits(), z.bits());
      }
    }
  }
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace assay::test
