#include "quiet.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace assay::oracle {
namespace {

struct Search {
  std::string_view prefix;
  std::string path;
};

// dl_iterate_phdr's callback: the first library whose file name begins like this, whatever its version.
int compare(dl_phdr_info* info, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(search.prefix)) return 0;
  search.path = path;
  return 1;
}

// A symbol of a loaded library, or null. Python loads libraries out of reach of dlsym(RTLD_DEFAULT, ...).
void* symbol(std::string_view library, const char* name) {
  Search search{library, {}};
  dl_iterate_phdr(compare, &search);
  if (search.path.empty()) return nullptr;
  void* handle = dlopen(search.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, name);
  dlclose(handle);  // the library stays loaded: others hold it
  return found;
}

}  // namespace

void quieten_torch() {
  // void c10::SetStackTraceFetcher(std::function<std::string()>), c10/util/Logging.h. Its type is part of its name, so
  // a torch that changed it is left alone.
  using SetFetcher = void (*)(std::function<std::string()>);
  if (void* set = symbol(
          "libc10.so",
          "_ZN3c1020SetStackTraceFetcherESt8functionIFNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEvEE"))
    reinterpret_cast<SetFetcher>(set)([] { return std::string(); });

  // int32 fLI::FLAGS_minloglevel of glog, which Debian's torch logs with. Torch lowers it while it is imported, so no
  // environment variable can set it. 2 leaves errors.
  if (void* level = symbol("libglog.so", "_ZN3fLI17FLAGS_minloglevelE")) *static_cast<int*>(level) = 2;
}

}  // namespace assay::oracle
