#include "names.h"

#include <cctype>

namespace assay::cuda::ptx {
namespace {

// What a GPU has: 227 KiB of shared memory for a block, and 512 KiB of local memory for a thread.
constexpr std::size_t kMostShared = 227 << 10, kMostLocal = 512 << 10;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<int> find_parameter(Text name, const Scopes& scopes) {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (const auto found = scope->parameters.find(name); found != scope->parameters.end())
      return found->second;
  return std::nullopt;
}

// .reg .b32 %r<9>, and .reg .pred p, q
void Names::declare_registers(Text statement, Scope& scope) {
  const std::vector<Text> all = words(statement);
  const auto bad = [&] { return error_at(whole_, statement, "a declaration that is not understood"); };
  if (all.size() < 3 || (all[1] != ".pred" && bytes_of_type(all[1]) == 0)) throw bad();
  const auto begin = static_cast<std::size_t>(all[2].data() - statement.data());
  for (Text name : split(statement.substr(begin), ',')) {
    std::uint64_t count = 0;
    if (const auto bracket = name.find('<'); bracket != Text::npos) {
      if (name.back() != '>' || !read_integer(inside(name.substr(bracket)), count)) throw bad();
      scope.declared.push_back({name = name.substr(0, bracket), count});
    } else if (!scope.registers.emplace(name, program_.rows).second) {
      throw error_at(whole_, name, "a register that is declared twice");
    } else {
      new_row();
    }
    if (name.empty() || name.find_first_of(" \t{}[]()+|:") != Text::npos) throw bad();
  }
}

void Names::take(std::size_t& total, const Declaration& d, std::size_t limit, const char* what) {
  total = round_up(total, d.alignment);
  addresses_[d.name] = total;
  total += d.bytes;
  if (total > limit)
    throw error_at(whole_, d.name, std::string("more than ") + std::to_string(limit) + " bytes of " + what);
}

void Names::add_parameter(Text declared) {
  const Declaration d = declaration(whole_, declared);
  if (addresses_.count(d.name) != 0) throw error_at(whole_, declared, "a parameter that is declared twice");
  take(program_.parameter_bytes, d, kMostParameters, "parameters");
  program_.parameters.push_back({std::string(d.name), addresses_[d.name], d.bytes});
}
void Names::add_shared(Text declared) {
  const Declaration d = declaration(whole_, declared);
  if (shared_known_.insert(d.name.data()).second)
    take(program_.shared_bytes, d, kMostShared, "shared memory");
}
void Names::add_local(Text declared) {
  take(program_.local_bytes, declaration(whole_, declared), kMostLocal, "local memory");
}

std::int32_t Names::constant(std::uint64_t value) {
  const auto known = constants_.find(value);
  if (known != constants_.end()) return known->second;
  const std::int32_t row = new_row();
  program_.constants.push_back({row, value});
  constant_rows_.insert(row);
  return constants_[value] = row;
}

std::optional<std::int32_t> Names::find_register(Text name, Scopes& scopes) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  std::uint64_t number = 0;
  const bool numbered =
      read_number(name.substr(digits), number) && (name[digits] != '0' || name.size() == digits + 1);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
    if (!numbered) continue;
    for (const Scope::Several& s : scope->declared)
      if (s.name == name.substr(0, digits) && number < s.count) return scope->registers[name] = new_row();
  }
  return std::nullopt;
}

std::optional<std::int32_t> Names::special(Text name) {
  using Kind = Special::Kind;
  if (const auto known = specials_.find(name); known != specials_.end()) return known->second;
  static const std::map<Text, Kind> kinds = {
      {"%tid", Kind::tid}, {"%ntid", Kind::ntid}, {"%ctaid", Kind::ctaid}, {"%nctaid", Kind::nctaid}};
  Special s{Kind::laneid, 0, 0};
  if (name != "%laneid") {
    const auto dot = name.find('.');
    const auto kind = kinds.find(name.substr(0, dot));
    if (kind == kinds.end() || dot + 2 != name.size() || name.back() < 'x' || name.back() > 'z')
      return std::nullopt;
    s = {kind->second, static_cast<std::uint8_t>(name.back() - 'x'), 0};
  }
  s.row = new_row();
  program_.specials.push_back(s);
  return specials_[name] = s.row;
}

// An integer, 0f3F800000, 0d3FF0000000000000
std::optional<std::uint64_t> Names::number(Text s) const {
  if (!is_digit(s[0]) && s[0] != '-') return std::nullopt;
  std::uint64_t value = 0;
  const char kind =
      s.size() > 2 && s[0] == '0' ? static_cast<char>(std::tolower(static_cast<unsigned char>(s[1]))) : '0';
  const bool is_float = kind == 'f' || kind == 'd';
  if (is_float ? s.size() != (kind == 'f' ? 10 : 18) || !read_number(s.substr(2), value, 16)
               : !read_integer(s, value))
    throw error_at(whole_, s, "no number");
  return value;
}

std::int32_t Names::written(Text name, Scopes& scopes) {
  if (name == "_") return new_row();
  if (const auto found = find_register(name, scopes)) return *found;
  throw error_at(whole_, name, "what is written is no register that is declared");
}

std::int32_t Names::read(Text name, Scopes& scopes) {
  if (name.empty()) throw error_at(whole_, name, "an operand is missing");
  if (const auto value = number(name)) return constant(*value);
  if (const auto found = find_register(name, scopes)) return *found;
  if (name[0] == '%') {
    if (const auto row = special(name)) return *row;
  } else {
    if (const auto found = addresses_.find(name); found != addresses_.end()) return constant(found->second);
    for (const Text text : shared_)
      if (text.find("[]") != Text::npos && words(text).back() == std::string(name) + "[]") {
        if (dynamic_row_ < 0) {
          dynamic_row_ = new_row();
          constant_rows_.insert(dynamic_row_);
          program_.constants.push_back({dynamic_row_, 0});
        }
        return dynamic_row_;
      }
  }
  throw error_at(whole_, name, "what is not declared is used");
}

std::int32_t Names::address(Text text, Scopes& scopes, std::int64_t& offset) {
  if (text.size() < 3 || text[0] != '[' || text.back() != ']') throw error_at(whole_, text, "no address");
  text = inside(text);
  const auto plus = text.find('+');
  std::uint64_t value = 0;
  if (plus != Text::npos && !read_integer(trimmed(text.substr(plus + 1)), value))
    throw error_at(whole_, text, "an address with no number after its +");
  offset = static_cast<std::int64_t>(value);
  return read(trimmed(text.substr(0, plus)), scopes);
}

void Names::place_dynamic_memory() {
  program_.shared_bytes = round_up(program_.shared_bytes, 16);
  for (Constant& c : program_.constants)
    if (c.row == dynamic_row_) c.value = program_.shared_bytes;
}

}  // namespace assay::cuda::ptx
