// What names stand for in a kernel that is linked: registers and .param variables of calls, by scope; variables in memory;
// special registers; numbers. Each is a row of the program, but for .param variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "program.h"
#include "text.h"

namespace assay::cuda::ptx {

struct Scope {
  struct Several {  // .reg .b32 %r<9>
    Text name;
    std::uint64_t count;
  };
  std::vector<Several> declared;
  std::map<Text, std::int32_t> registers;
  std::map<Text, int> parameters;
};
// A kernel's parameters in bytes, at most, and a function's.
inline constexpr std::size_t kMostParameters = 32764;

using Scopes = std::vector<Scope>;  // the innermost last

std::optional<int> find_parameter(Text name, const Scopes& scopes);

class Names {
 public:
  Names(Text whole, const std::vector<Text>& shared, Program& program)
      : whole_(whole), shared_(shared), program_(program) {}

  // Declarations: a register's, and those of variables in memory. Throw std::runtime_error.
  void declare_registers(Text statement, Scope& scope);
  void add_parameter(Text declared);
  void add_shared(Text declared);
  void add_local(Text declared);

  std::int32_t new_row() { return program_.rows++; }
  std::int32_t written(Text name, Scopes& scopes);  // a register, or _
  std::int32_t read(Text name, Scopes& scopes);
  // [base+offset]
  std::int32_t address(Text text, Scopes& scopes, std::int64_t& offset);
  bool is_constant(std::int32_t row) const { return constant_rows_.count(row) != 0; }

  // Dynamic shared memory begins after all static variables, which are known at the end only.
  void place_dynamic_memory();

 private:
  std::optional<std::int32_t> find_register(Text name, Scopes& scopes);
  std::optional<std::int32_t> special(Text name);
  std::int32_t constant(std::uint64_t value);
  std::optional<std::uint64_t> number(Text s) const;
  void take(std::size_t& total, const Declaration& d, std::size_t limit, const char* what);

  Text whole_;
  const std::vector<Text>& shared_;
  Program& program_;
  std::map<Text, std::size_t> addresses_;  // of variables in shared, local and parameter memory
  std::set<const char*> shared_known_;     // declarations in functions that are called more than once
  std::map<std::uint64_t, std::int32_t> constants_;
  std::set<std::int32_t> constant_rows_;
  std::map<Text, std::int32_t> specials_;
  std::int32_t dynamic_row_ = -1;
};

}  // namespace assay::cuda::ptx
