#include "forms.h"

#include <map>
#include <string_view>

namespace assay::cuda::ptx {
namespace {

// Names of instructions, with a space after each, and their operands.
struct Form {
  std::string_view names;
  const char* operands;
};

constexpr Form kForms[] = {
    {"abs neg not cnot popc clz brev sqrt rcp rsqrt ex2 lg2 sin cos tanh cvt cvta mov ", "ds"},
    {"add sub mul div rem min max copysign and or xor shl shr ", "dss"},
    {"mad fma dp4a bfe prmt shf selp ", "dsss"},
    {"bfi lop3 ", "dssss"},
    {"pack ", "dS"},
    {"unpack ", "Ds"},
    {"ld ", "Da"},
    {"st ", "aS"},
    {"atom ", "das"},
    {"red ", "as"},
    {"membar fence ", ""},
    {"activemask ", "d"},
    {"shfl ", "pssss"},
    {"vote ", "dss"},
    {"bar barrier ", "s"},
    {"ldmatrix ", "d4a"},
    {"mma ", "d4s4s2s4"},
};

std::map<std::string_view, const char*> forms_by_name() {
  std::map<std::string_view, const char*> all;
  for (const Form& form : kForms)
    for (std::string_view names = form.names; !names.empty(); names.remove_prefix(names.find(' ') + 1))
      all.emplace(names.substr(0, names.find(' ')), form.operands);
  return all;
}

}  // namespace

const char* operands_of(const std::vector<std::string_view>& parts, const Instruction& instruction) {
  if (parts[0] == "setp") return instruction.control == 0 ? "dss" : "dsss";
  if (parts[0] == "cp") {
    if (parts[2] == "commit_group") return "";
    if (parts[2] == "wait_group") return "s";
    return instruction.control == 0 ? "aas" : "aass";
  }
  static const std::map<std::string_view, const char*> forms = forms_by_name();
  const auto form = forms.find(parts[0]);
  return form == forms.end() ? nullptr : form->second;
}

}  // namespace assay::cuda::ptx
