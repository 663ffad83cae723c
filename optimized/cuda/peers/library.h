// Somebody else's library, loaded by the first that wants it, so that nothing needs it to be built or to
// start.
#pragma once

#include <initializer_list>
#include <string>

namespace assay::cuda::peers {

class Library {
 public:
  // Loads the file that the environment variable `variable` names, or, where it is not set, the first of
  // `names` that the loader finds. A library that is not there is no error here: missing() says so.
  Library(const char* variable, std::initializer_list<const char*> names);

  // Makes `function` the one of this name. Without it the library counts as missing.
  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(symbol(name));
  }

  // Why it cannot be called, or null. "not run: there is no libx.so.1 (...): ...", "not run: libx.so.1 lacks
  // x_create".
  const char* missing() const { return missing_.empty() ? nullptr : missing_.c_str(); }

 private:
  void* symbol(const char* name);

  void* handle_ = nullptr;
  std::string file_, missing_;
};

}  // namespace assay::cuda::peers
