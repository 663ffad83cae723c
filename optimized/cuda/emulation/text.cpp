#include "text.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

namespace assay::cuda::emulation {

namespace {

// From the last "optimized/" on.
std::string from_optimized(const std::string& path) {
  const std::size_t at = path.rfind("optimized/");
  return at == std::string::npos ? path : path.substr(at);
}

std::string coordinates(unsigned x, unsigned y, unsigned z) {
  std::string s = std::to_string(x);
  if (y == 0 && z == 0) return s;
  s = "(" + s + ", " + std::to_string(y);
  if (z != 0) s += ", " + std::to_string(z);
  return s + ")";
}

}  // namespace

std::string text(Location where) { return from_optimized(where.file) + ":" + std::to_string(where.line); }

std::string place_of_frames(const std::string& lines) {
  std::vector<std::string> frames;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    if (const std::size_t more = line.find(" (discriminator"); more != std::string::npos) line.resize(more);
    // Frames of the emulation itself and of the standard library are nobody's code.
    if (line.find("optimized/cuda/") != std::string::npos &&
        (line.find("/emulation/") == std::string::npos || line.find("/emulation/test/") != std::string::npos))
      frames.push_back(from_optimized(line));
  }
  if (frames.empty()) return "an unknown place";
  const auto file = [](const std::string& frame) { return frame.substr(0, frame.rfind(':')); };
  return file(frames.front()) == file(frames.back()) ? frames.front()
                                                     : frames.front() + " (" + frames.back() + ")";
}

std::string name_of_block(uint3 block) { return "block " + coordinates(block.x, block.y, block.z); }

std::string name_of_thread(uint3 block, dim3 shape, unsigned thread) {
  return name_of_block(block) + " thread " +
         coordinates(thread % shape.x, thread / shape.x % shape.y, thread / shape.x / shape.y);
}

std::string demangled(const char* kernel) {
  int status = 0;
  char* plain = abi::__cxa_demangle(kernel, nullptr, nullptr, &status);
  std::string s = status == 0 ? plain : kernel;
  std::free(plain);
  // The name of the type that carries it (launch.h of the folder above): ...Name<&(void NAME(ARGUMENTS))>, or Name<&NAME> where it is no template.
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
    if ((s[i] == '(' && depth == 0) || depth < 0) {
      end = i;
      break;
    }
  }
  s.resize(end);
  return s;
}

}  // namespace assay::cuda::emulation
