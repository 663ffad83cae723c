#include "forms.h"

#include <string>

namespace assay::cuda::ptx {
namespace {

struct Form {
  std::string_view names;  // with a space around each
  const char* operands;
};

constexpr Form kForms[] = {
    {" abs neg not cnot popc clz brev sqrt rcp rsqrt ex2 lg2 sin cos tanh cvt cvta mov ", "ds"},
    {" add sub mul div rem min max copysign and or xor shl shr ", "dss"},
    {" mad fma dp4a bfe prmt shf selp ", "dsss"},
    {" bfi lop3 ", "dssss"},
    {" pack ", "dS"},
    {" unpack ", "Ds"},
    {" ld ", "Da"},
    {" st ", "aS"},
    {" atom ", "das"},
    {" red ", "as"},
    {" membar fence ", ""},
    {" activemask ", "d"},
    {" shfl ", "pssss"},
    {" vote ", "dss"},
    {" bar barrier ", "s"},
    {" ldmatrix ", "d4a"},
    {" mma ", "d4s4s2s4"},
};

}  // namespace

const char* operands_of(const std::vector<std::string_view>& parts, const Instruction& instruction) {
  if (parts[0] == "setp") return instruction.control == 0 ? "dss" : "dsss";
  if (parts[0] == "cp") {
    if (parts[2] == "commit_group") return "";
    if (parts[2] == "wait_group") return "s";
    return instruction.control == 0 ? "aas" : "aass";
  }
  const std::string name = " " + std::string(parts[0]) + " ";
  for (const Form& form : kForms)
    if (form.names.find(name) != std::string_view::npos) return form.operands;
  return nullptr;
}

}  // namespace assay::cuda::ptx
