#include "text.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

namespace assay::cuda::emulation {

std::string text(Location where) {
  const char* file = where.file;
  for (const char* at = std::strstr(file, "optimized/"); at != nullptr; at = std::strstr(at + 1, "optimized/"))
    file = at;
  return std::string(file) + ":" + std::to_string(where.line);
}

std::string demangled(const char* kernel) {
  int status = 0;
  char* plain = abi::__cxa_demangle(kernel, nullptr, nullptr, &status);
  std::string s = status == 0 ? plain : kernel;
  std::free(plain);
  // The name of the type that carries it (launch.h of the folder above): ...Name<&(void NAME(ARGUMENTS))>.
  const auto begin = s.find("<&");
  if (begin != std::string::npos) s = s.substr(begin + 2);
  if (!s.empty() && s[0] == '(') s = s.substr(1);
  for (const char* prefix : {"void ", "assay::cuda::emulated::"})
    if (s.rfind(prefix, 0) == 0) s = s.substr(std::strlen(prefix));
  // Without the arguments, which begin at the last parenthesis of the outermost level.
  int depth = 0;
  std::size_t end = s.size();
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '<') ++depth;
    if (s[i] == '>') --depth;
    if (s[i] == '(' && depth == 0) {
      end = i;
      break;
    }
  }
  s.resize(end);
  return s;
}

}  // namespace assay::cuda::emulation
