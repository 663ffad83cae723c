// NumPy's .npy: open_npy() throws FileError that names the file, or gives a tensor that can be read.
#include "../tensors/npy.h"

#include "target.h"
#include "tensors.h"

namespace assay::fuzz {
namespace {

std::string npy(int version, const std::string& dict, const std::string& data) {
  const std::string length{static_cast<char>(dict.size() % 256), static_cast<char>(dict.size() / 256)};
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} + length +
         (version == 1 ? "" : std::string(2, '\0')) + dict + data;
}

std::vector<std::string> seeds() {
  return {npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", std::string(24, '\x3f')),
          npy(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2, 1), }\n", "abcdefgh"),
          npy(2, "{\"shape\": (3L,), \"fortran_order\": True, \"descr\": '|b1'}", std::string("\1\0\1", 3)),
          npy(3, "{'descr': '<V2', 'fortran_order': False, 'shape': (), }\n", "\x80\x3f"),
          npy(1, "{'descr': 'float8_e4m3fn', 'fortran_order': False, 'shape': (0, 7), }\n", "")};
}

bool run(std::string_view input) {
  return read_all_tensors([](FileBytes file) { return tensors::open_npy(file); }, input);
}

}  // namespace

const Target kNpy{"npy", seeds, run};

}  // namespace assay::fuzz
