#include "linker.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "operations.h"

namespace assay::cuda::ptx {
namespace {

using Text = std::string_view;

Text trimmed(Text s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == Text::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

// At separators that stand in no brackets.
std::vector<Text> split(Text s, char separator) {
  std::vector<Text> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == separator && depth == 0)) {
      parts.push_back(trimmed(s.substr(begin, i - begin)));
      begin = i + 1;
    } else if (Text("{[(").find(s[i]) != Text::npos) {
      ++depth;
    } else if (Text("}])").find(s[i]) != Text::npos) {
      --depth;
    }
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::vector<Text> words(Text s) {
  std::vector<Text> found;
  for (s = trimmed(s); !s.empty();) {
    const auto end = std::min(s.find_first_of(" \t\r\n"), s.size());
    found.push_back(s.substr(0, end));
    s = trimmed(s.substr(end));
  }
  return found;
}

std::size_t bytes_of_type(Text type) {
  std::size_t bits = 0;
  if (type.size() > 2) std::from_chars(type.data() + 2, type.data() + type.size(), bits);
  if (bits == 0 || bits % 8 != 0) throw std::runtime_error("the type " + std::string(type) + " is not known");
  return bits / 8;
}

// ".param .align 8 .b8 name[16]" and the like, of any state space.
struct Declaration {
  Text name;
  std::size_t bytes, alignment;
};
Declaration declaration(Text text) {
  Declaration d{{}, 0, 0};
  std::size_t element = 0;
  const std::vector<Text> all = words(text);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == ".align" && i + 1 < all.size())
      std::from_chars(all[i + 1].data(), all[i + 1].data() + all[i + 1].size(), d.alignment), ++i;
    else if (all[i][0] == '.' && all[i] != ".param" && all[i] != ".shared" && all[i] != ".local" &&
             all[i] != ".reg")
      element = bytes_of_type(all[i]);
    else if (all[i][0] != '.')
      d.name = all[i];
  }
  std::size_t count = 1;
  if (const auto bracket = d.name.find('['); bracket != Text::npos) {
    count = 0;
    std::from_chars(d.name.data() + bracket + 1, d.name.data() + d.name.size(), count);
    d.name = d.name.substr(0, bracket);
  }
  d.bytes = element * count;
  if (d.alignment == 0) d.alignment = element;
  if (d.name.empty() || element == 0)
    throw std::runtime_error("a declaration that is not understood: " + std::string(text));
  return d;
}

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

class Linker {
 public:
  explicit Linker(const Surroundings& around) : around_(around) {}

  Program link(const Function& entry) {
    for (const Text text : around_.shared)
      if (text.find("[]") == Text::npos) add_shared(text);
    Frame frame;
    frame.scopes.emplace_back();
    for (const Text text : split(entry.parameters, ',')) {
      const Declaration d = declaration(text);
      program_.parameter_bytes = round_up(program_.parameter_bytes, d.alignment);
      program_.parameters.push_back({std::string(d.name), program_.parameter_bytes, d.bytes});
      addresses_[d.name] = program_.parameter_bytes;
      program_.parameter_bytes += d.bytes;
    }
    function(entry, frame);
    Instruction exit;
    exit.flow = Flow::exit;
    exit.text = remember("exit");
    program_.code.push_back(exit);
    // Dynamic shared memory begins behind all static variables, which are known only now.
    program_.shared_bytes = round_up(program_.shared_bytes, 16);
    for (Constant& c : program_.constants)
      if (c.row == dynamic_row_) c.value = program_.shared_bytes;
    return std::move(program_);
  }

 private:
  struct Scope {
    std::map<Text, std::int32_t> registers;
    std::map<Text, int> parameters;  // numbers of .param variables of calls
  };
  struct Branch {
    std::size_t instruction;
    Text label;
  };
  struct Frame {  // of a function, while its text is read
    std::vector<Scope> scopes;
    std::map<Text, std::int32_t> labels;
    std::vector<Branch> branches;
    bool inlined = false;
  };

  void function(const Function& f, Frame& frame) {
    if (++depth_ > 20)
      throw std::runtime_error("functions that call each other without end: " + std::string(f.name));
    body(f.body, frame);
    const auto end = static_cast<std::int32_t>(program_.code.size());
    for (const Branch& b : frame.branches) {
      const auto label = frame.labels.find(b.label);
      if (!b.label.empty() && label == frame.labels.end())
        throw std::runtime_error("there is no label " + std::string(b.label));
      program_.code[b.instruction].target = b.label.empty() ? end : label->second;
    }
    --depth_;
  }

  void body(Text text, Frame& frame) {
    while (!(text = trimmed(text)).empty()) {
      if (text[0] == '{') {
        frame.scopes.emplace_back();
        text.remove_prefix(1);
      } else if (text[0] == '}') {
        frame.scopes.pop_back();
        text.remove_prefix(1);
      } else if (text[0] == '$' && text.find(':') < text.find(';')) {
        const auto colon = text.find(':');
        frame.labels[trimmed(text.substr(0, colon))] = static_cast<std::int32_t>(program_.code.size());
        text.remove_prefix(colon + 1);
      } else if (text.substr(0, 5) == ".loc\t" || text.substr(0, 5) == ".loc ") {
        const auto end = std::min(text.find('\n'), text.size());
        place(text.substr(5, end - 5));
        text.remove_prefix(end);
      } else {
        const auto end = text.find(';');
        if (end == Text::npos)
          throw std::runtime_error("an instruction without its end: " + std::string(text.substr(0, 80)));
        statement(trimmed(text.substr(0, end)), frame);
        text.remove_prefix(end + 1);
      }
    }
  }

  void statement(Text s, Frame& frame) {
    if (s.empty()) return;
    if (s[0] != '.') return instruction(s, frame);
    const auto kind = s.substr(0, s.find_first_of(" \t"));
    if (kind == ".pragma") return;
    if (kind == ".reg") {
      if (s.find('<') != Text::npos) return;  // %r<9>: what begins with % is a register anyway
      for (const Text name : split(s.substr(s.find_first_of(" \t", 6) + 1), ','))
        frame.scopes.back().registers[words(name).back()] = new_row();
    } else if (kind == ".param") {
      frame.scopes.back().parameters[declaration(s).name] = ++parameters_;
    } else if (kind == ".shared") {
      add_shared(s);
    } else if (kind == ".local") {
      const Declaration d = declaration(s);
      program_.local_bytes = round_up(program_.local_bytes, d.alignment);
      addresses_[d.name] = program_.local_bytes;
      program_.local_bytes += d.bytes;
    } else {
      throw std::runtime_error("a directive that is not understood: " + std::string(s));
    }
  }

  void add_shared(Text text) {
    const Declaration d = declaration(text);
    program_.shared_bytes = round_up(program_.shared_bytes, d.alignment);
    addresses_[d.name] = program_.shared_bytes;
    program_.shared_bytes += d.bytes;
  }

  void place(Text text) {  // "3 40 5, function_name ..."
    const std::vector<Text> all = words(text);
    int file = 0;
    if (all.size() >= 2) std::from_chars(all[0].data(), all[0].data() + all[0].size(), file);
    const auto name = around_.files.find(file);
    if (name == around_.files.end()) return;
    std::string path = name->second;
    if (const auto at = path.rfind("optimized/"); at != std::string::npos) path = path.substr(at);
    std::erase(path, '"');
    path += ":" + std::string(all[1]);
    const auto [known, added] = known_places_.emplace(path, program_.places.size());
    if (added) program_.places.push_back(path);
    place_ = static_cast<std::int32_t>(known->second);
  }

  std::int32_t remember(Text text) {
    program_.texts.emplace_back(text);
    return static_cast<std::int32_t>(program_.texts.size() - 1);
  }
  std::int32_t new_row() { return program_.rows++; }
  std::int32_t constant(std::uint64_t value) {
    const auto [known, added] = constants_.emplace(value, program_.rows);
    if (added) program_.constants.push_back({new_row(), value});
    return known->second;
  }

  void instruction(Text s, Frame& frame) {
    Instruction i;
    i.place = place_;
    Text rest = s;
    if (s[0] == '@') {
      const auto end = s.find_first_of(" \t");
      i.guard_negated = s[1] == '!';
      i.guard = register_row(s.substr(i.guard_negated ? 2 : 1, end - (i.guard_negated ? 2 : 1)), frame);
      rest = trimmed(s.substr(end));
    }
    const auto end = std::min(rest.find_first_of(" \t\r\n"), rest.size());
    std::vector<Text> parts = split(rest.substr(0, end), '.');
    const std::vector<Text> operands = split(rest.substr(end), ',');
    // mov with a vector is an operation of its own (conversion.cpp).
    if (parts[0] == "mov" && operands.size() == 2)
      for (std::size_t k = 0; k < 2; ++k)
        if (operands[k].starts_with('{')) {
          parts[0] = k == 0 ? "unpack" : "pack";
          i.vector =
              static_cast<std::uint8_t>(split(operands[k].substr(1, operands[k].size() - 2), ',').size());
        }
    if (parts[0] == "call") return call(operands, frame);
    i.text = remember(s);
    if (parts[0] == "bra" || parts[0] == "ret") {
      i.flow = parts[0] == "ret" && !frame.inlined ? Flow::exit : Flow::branch;
      if (i.flow == Flow::branch)
        frame.branches.push_back({program_.code.size(), parts[0] == "ret" ? Text{} : operands.at(0)});
      program_.code.push_back(i);
      return;
    }
    if ((parts[0] == "ld" || parts[0] == "st") && parts.size() > 2 && parts[1] == "param" &&
        move_parameter(parts, operands, i, frame))
      return;
    if (!choose_operation(parts, i))
      throw std::runtime_error("PTX that is not interpreted: " + std::string(s));
    if (parts[0] == "cp" && operands.size() == 3) i.control = 0;
    if (parts[0] == "ld" && operands.size() == 2 && operands[1].find('%') == Text::npos) i.control = 1;
    std::size_t row = 0, addresses = 0;
    const auto add = [&](std::int32_t r) {
      if (row == i.row.size()) throw std::runtime_error("too many operands: " + std::string(s));
      i.row[row++] = r;
    };
    for (const Text o : operands) {
      if (o.empty()) throw std::runtime_error("an operand is missing: " + std::string(s));
      if (o[0] == '{') {
        for (const Text each : split(o.substr(1, o.size() - 2), ',')) add(operand(each, frame));
      } else if (o[0] == '[') {
        if (addresses == i.offset.size()) throw std::runtime_error("too many addresses: " + std::string(s));
        add(address(o.substr(1, o.size() - 2), frame, i.offset[addresses++]));
      } else {
        const std::vector<Text> pair = split(o, '|');  // shfl.sync's value and predicate
        for (const Text each : pair) add(operand(each, frame));
        if (parts[0] == "shfl" && row == 1) add(new_row());
      }
    }
    if (parts[0] == "shfl" || parts[0] == "vote" || parts[0] == "redux") i.mask = i.row[row - 1];
    if (parts[0] == "bar" && parts[1] == "warp") i.mask = i.row[0];
    program_.code.push_back(i);
  }

  // Parameters of calls are rows, by variable and offset. False for those of the kernel, which lie in memory.
  bool move_parameter(const std::vector<Text>& parts, const std::vector<Text>& operands, Instruction i,
                      Frame& frame) {
    const bool store = parts[0] == "st";
    Text where = operands.at(store ? 0 : 1), what = operands.at(store ? 1 : 0);
    where = trimmed(where.substr(1, where.size() - 2));
    const auto plus = where.find('+');
    const auto variable = find_parameter(trimmed(where.substr(0, plus)), frame);
    if (!variable) return false;
    std::int64_t offset = 0;
    if (plus != Text::npos) offset = integer(where.substr(plus + 1));
    const Text type = parts.back();
    std::vector<Text> values =
        what[0] == '{' ? split(what.substr(1, what.size() - 2), ',') : std::vector<Text>{what};
    if (!choose_operation({"mov", type}, i)) return false;
    for (const Text value : values) {
      const auto key = std::pair(*variable, offset);
      if (!store && parameter_rows_.count(key) == 0)
        throw std::runtime_error("an argument is read that nobody has written: " + program_.texts.back());
      const auto known = parameter_rows_.emplace(key, program_.rows);
      if (known.second) new_row();
      const std::int32_t row = operand(value, frame);
      i.row[0] = store ? known.first->second : row;
      i.row[1] = store ? row : known.first->second;
      program_.code.push_back(i);
      offset += static_cast<std::int64_t>(bytes_of_type("." + std::string(type)));
    }
    return true;
  }

  static std::optional<int> find_parameter(Text name, const Frame& frame) {
    for (auto scope = frame.scopes.rbegin(); scope != frame.scopes.rend(); ++scope)
      if (const auto found = scope->parameters.find(name); found != scope->parameters.end())
        return found->second;
    return std::nullopt;
  }

  // call.uni (results), name, (arguments)
  void call(const std::vector<Text>& operands, Frame& frame) {
    std::size_t next = 0;
    std::vector<Text> results, arguments;
    const auto list = [](Text o) { return split(o.substr(1, o.size() - 2), ','); };
    if (!operands.empty() && operands[0].starts_with('(')) results = list(operands[next++]);
    const Text name = operands.at(next++);
    if (next < operands.size()) arguments = list(operands[next++]);
    const auto callee = around_.functions.find(name);
    if (callee == around_.functions.end())
      throw std::runtime_error("a function that is not there is called: " + std::string(name));
    Frame inner;
    inner.inlined = true;
    Scope& scope = inner.scopes.emplace_back();
    const auto bind = [&](Text declared, const std::vector<Text>& given) {
      const std::vector<Text> all = split(declared, ',');
      for (std::size_t k = 0; k < all.size() && k < given.size(); ++k)
        if (const auto variable = find_parameter(given[k], frame))
          scope.parameters[declaration(all[k]).name] = *variable;
    };
    bind(callee->second.results, results);
    bind(callee->second.parameters, arguments);
    const std::int32_t at = place_;
    function(callee->second, inner);
    place_ = at;
  }

  std::int32_t register_row(Text name, Frame& frame) {
    for (auto scope = frame.scopes.rbegin(); scope != frame.scopes.rend(); ++scope)
      if (const auto found = scope->registers.find(name); found != scope->registers.end())
        return found->second;
    if (name.empty() || name[0] != '%')
      throw std::runtime_error("what is not declared is used: " + std::string(name));
    return frame.scopes.front().registers[name] = new_row();
  }

  std::optional<std::int32_t> special_row(Text name) {
    using Kind = Special::Kind;
    static const std::map<Text, Kind> kinds = {{"%tid", Kind::tid},
                                               {"%ntid", Kind::ntid},
                                               {"%ctaid", Kind::ctaid},
                                               {"%nctaid", Kind::nctaid},
                                               {"%laneid", Kind::laneid}};
    const auto kind = kinds.find(name.substr(0, name.find('.')));
    if (kind == kinds.end()) return std::nullopt;
    const auto [known, added] = specials_.emplace(name, program_.rows);
    if (added)
      program_.specials.push_back(
          {kind->second,
           static_cast<std::uint8_t>(name.back() >= 'x' && name.back() <= 'z' ? name.back() - 'x' : 0),
           new_row()});
    return known->second;
  }

  static std::int64_t integer(Text s) {
    s = trimmed(s);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc{} || end != s.data() + s.size())
      throw std::runtime_error("no number: " + std::string(s));
    return value;
  }

  std::int32_t operand(Text s, Frame& frame) {
    s = trimmed(s);
    if (s == "_") return new_row();
    if (s[0] == '%') {
      const auto special = special_row(s);
      return special ? *special : register_row(s, frame);
    }
    if (s.size() > 2 && s[0] == '0' && Text("fFdDxX").find(s[1]) != Text::npos)
      return constant(std::strtoull(std::string(s.substr(2)).c_str(), nullptr, 16));
    if (s[0] == '-' || std::isdigit(static_cast<unsigned char>(s[0])) != 0) {
      if (s.back() == 'U') s.remove_suffix(1);
      if (s[0] == '-') return constant(static_cast<std::uint64_t>(integer(s)));
      return constant(std::strtoull(std::string(s).c_str(), nullptr, 10));
    }
    for (const Scope& scope : frame.scopes)
      if (scope.registers.count(s) != 0) return register_row(s, frame);
    if (const auto found = addresses_.find(s); found != addresses_.end()) return constant(found->second);
    for (const Text text : around_.shared)
      if (text.find("[]") != Text::npos && words(text).back() == std::string(s) + "[]") {
        if (dynamic_row_ < 0) {
          dynamic_row_ = new_row();
          program_.constants.push_back({dynamic_row_, 0});
        }
        return dynamic_row_;
      }
    throw std::runtime_error("what is not declared is used: " + std::string(s));
  }

  std::int32_t address(Text s, Frame& frame, std::int64_t& offset) {
    const auto plus = s.find('+');
    if (plus != Text::npos) offset = integer(s.substr(plus + 1));
    return operand(s.substr(0, plus), frame);
  }

  const Surroundings& around_;
  Program program_;
  std::map<Text, std::size_t> addresses_;  // of variables in shared, local and parameter memory
  std::map<std::uint64_t, std::int32_t> constants_;
  std::map<Text, std::int32_t> specials_;
  std::map<std::pair<int, std::int64_t>, std::int32_t> parameter_rows_;
  std::map<std::string, std::size_t> known_places_;
  int parameters_ = 0, depth_ = 0;
  std::int32_t dynamic_row_ = -1, place_ = -1;
};

}  // namespace

Program link(const Surroundings& around, const Function& entry) { return Linker(around).link(entry); }

}  // namespace assay::cuda::ptx
