// Words for what happened in a kernel, in the memory that the harness reads.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>

namespace assay {

inline void copy_text(std::span<char> to, std::string_view text) {
  const std::size_t n = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), n);
  to[n] = 0;
}

// "std::runtime_error: no such thing"
inline std::string exception_text() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  std::string name = "an exception";
  if (type != nullptr) {
    int status = 0;
    char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    name = readable != nullptr ? readable : type->name();
    std::free(readable);
  }
  try {
    throw;
  } catch (const std::exception& error) {
    return name + ": " + error.what();
  } catch (...) {
    return name;
  }
}

}  // namespace assay
