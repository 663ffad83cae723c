// Who reads what a call of a trace gave.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../files/case_file.h"

namespace assay {

struct Reader {
  std::size_t call = 0;
  std::string argument;  // as the recorder's notes name it: "self", "tensors.0"
  bool whole = false;    // all of it as it is, and through no call that was not recorded
};

class Readers {
 public:
  explicit Readers(const CaseFile& trace);
  // Of this result, in the order of their calls.
  const std::vector<Reader>& of(std::size_t call, const std::string& output) const;
  // The only one, if it reads all of it.
  const Reader* only_one(std::size_t call, const std::string& output) const;

 private:
  std::map<std::pair<std::size_t, std::string>, std::vector<Reader>> all_;
};

}  // namespace assay
