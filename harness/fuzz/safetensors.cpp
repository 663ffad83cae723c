// Files of safetensors: open_safetensors() throws FileError that names the file, or gives tensors that can be read.
#include "../tensors/safetensors.h"

#include "target.h"
#include "tensors.h"

namespace assay::fuzz {
namespace {

std::string safetensors(const std::string& header, const std::string& data) {
  return std::string{static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)} +
         std::string(6, '\0') + header + data;
}

std::vector<std::string> seeds() {
  return {
      safetensors(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", std::string(8, '\x3f')),
      safetensors(
          R"({"__metadata__":{"x":"y"},"a":{"dtype":"BF16","shape":[],"data_offsets":[3,5]},)"
          R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},"c":{"dtype":"I64","shape":[0],"data_offsets":[3,3]}}  )",
          std::string("\0\1\1ab", 5)),
      safetensors(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U64","shape":[],)"
                  R"("data_offsets":[2,10]}})",
                  "0123456789")};
}

bool run(std::string_view input) {
  return read_all_tensors([](FileBytes file) { return tensors::open_safetensors(file); }, input);
}

}  // namespace

const Target kSafetensors{"safetensors", seeds, run};

}  // namespace assay::fuzz
