#include "backtraces.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace assay::oracle {
namespace {

// dl_iterate_phdr's callback: remembers the path of libc10.so, whatever its version.
int is_c10(dl_phdr_info* info, std::size_t, void* found) {
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("libc10.so")) return 0;
  *static_cast<std::string*>(found) = path;
  return 1;
}

}  // namespace

void drop_backtraces() {
  // void c10::SetStackTraceFetcher(std::function<std::string()>), c10/util/Logging.h. Its type is part of its name, so
  // a torch that changed it is left alone.
  constexpr const char* kSetter =
      "_ZN3c1020SetStackTraceFetcherESt8functionIFNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEvEE";
  using Setter = void (*)(std::function<std::string()>);

  std::string path;
  dl_iterate_phdr(is_c10, &path);
  if (path.empty()) return;
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  if (void* setter = dlsym(library, kSetter); setter != nullptr)
    reinterpret_cast<Setter>(setter)([] { return std::string(); });
  dlclose(library);
}

}  // namespace assay::oracle
