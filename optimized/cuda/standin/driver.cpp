// A program looks for the driver's file before it asks CUDA (memory_gpu.cu): here there is one. Linked with --wrap=access.
#include <string_view>

extern "C" {
int __real_access(const char* path, int mode);
int __wrap_access(const char* path, int mode);
}

int __wrap_access(const char* path, int mode) {
  return std::string_view(path) == "/dev/nvidiactl" ? 0 : __real_access(path, mode);
}
