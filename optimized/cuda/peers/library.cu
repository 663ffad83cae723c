#include "library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace assay::cuda::peers {
namespace {

std::string loader_says() {
  const char* const text = dlerror();
  return text == nullptr ? "the loader does not say why" : text;
}

}  // namespace

Library::Library(const char* variable, std::initializer_list<const char*> names) {
  const char* const path = std::getenv(variable);
  std::string first_reason;
  const auto open = [&](const char* file) {
    handle_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr)
      file_ = file;
    else if (first_reason.empty())
      first_reason = loader_says();
    return handle_ != nullptr;
  };
  if (path != nullptr && *path != 0) {
    if (!open(path))
      missing_ = std::string("not run: there is no ") + path + ", which " + variable + " names (" +
                 first_reason + ")";
    return;
  }
  for (const char* name : names)
    if (open(name)) return;
  missing_ = std::string("not run: there is no ") + *names.begin() + " (" + first_reason +
             "): install it, or let " + variable + " name its path";
}

void* Library::symbol(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const found = dlsym(handle_, name);
  if (found == nullptr && missing_.empty()) missing_ = "not run: " + file_ + " lacks " + name;
  return found;
}

}  // namespace assay::cuda::peers
