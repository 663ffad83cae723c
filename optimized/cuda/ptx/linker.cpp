#include "linker.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "forms.h"
#include "names.h"
#include "operations.h"
#include "rows.h"
#include "text.h"

namespace assay::cuda::ptx {
namespace {

// Kernels of ours have a fifth. Functions that call others twice, and these others twice, have no end without it.
constexpr std::size_t kMostInstructions = 1 << 19, kMostText = 1 << 25;  // bytes, of .loc and comments, too
constexpr std::int32_t kMostRows = 1 << 18;
constexpr int kMostCalls = 20;  // in each other

// The ; of a statement, or the : of a label. Not looked for further than it is: a kernel may have many.
std::size_t end_of_statement(Text text) {
  if (text[0] != '$') return text.find(';');
  const auto end = std::ranges::find_if(text, [](char c) { return c == ':' || c == ';'; });
  return end == text.end() ? Text::npos : static_cast<std::size_t>(end - text.begin());
}

class Linker {
 public:
  explicit Linker(const Surroundings& around)
      : around_(around), names_(around.text, around.shared, program_) {}

  Program link(const Function& entry) {
    for (const Text text : around_.shared)
      if (text.find("[]") == Text::npos) names_.add_shared(text);
    for (const Text text : split(entry.parameters, ',')) names_.add_parameter(text);
    Frame frame;
    frame.scopes.emplace_back();
    function(entry, frame);
    Instruction exit;
    exit.flow = Flow::exit;
    exit.text = remember("exit");
    program_.code.push_back(exit);
    names_.place_dynamic_memory();
    share_rows(program_);
    return std::move(program_);
  }

 private:
  struct Branch {
    std::size_t instruction;
    Text label;
  };
  struct Frame {  // of a function, while its text is read
    Scopes scopes;
    std::map<Text, std::int32_t> labels;
    std::vector<Branch> branches;
    bool inlined = false;
  };
  struct Slot {  // a part of a .param variable
    std::int32_t row;
    std::size_t bytes;
  };

  std::runtime_error error(Text token, std::string_view what) const {
    return error_at(around_.text, token, what);
  }

  void function(const Function& f, Frame& frame) {
    if (++depth_ > kMostCalls) throw error(f.name, "functions that call each other without end");
    if ((read_ += f.body.size()) > kMostText) throw error(f.name, "a kernel that is too long");
    body(f.body, frame);
    const auto end = static_cast<std::int32_t>(program_.code.size());
    for (const Branch& b : frame.branches) {
      const auto label = frame.labels.find(b.label);
      if (!b.label.empty() && label == frame.labels.end()) throw error(b.label, "there is no such label");
      program_.code[b.instruction].target = b.label.empty() ? end : label->second;
    }
    --depth_;
  }

  void body(Text text, Frame& frame) {
    while (!(text = without_leading_space(text)).empty()) {
      if (program_.code.size() > kMostInstructions || program_.rows > kMostRows)
        throw error(text, "a kernel that is too long");
      if (text[0] == '{') {
        frame.scopes.emplace_back();
        text.remove_prefix(1);
      } else if (text[0] == '}') {
        if (frame.scopes.size() == 1) throw error(text, "a } has no {");
        frame.scopes.pop_back();
        text.remove_prefix(1);
      } else if (text.starts_with(".loc") && text.size() > 4 && is_space(text[4])) {
        const auto line = std::min(text.find('\n'), text.size());
        place(text.substr(5, line - std::min<std::size_t>(line, 5)));
        text.remove_prefix(line);
      } else {
        const auto end = end_of_statement(text);
        if (end == Text::npos) throw error(text, "a statement without its end");
        const Text what = trimmed(text.substr(0, end));
        if (text[end] == ';')
          statement(what, frame);
        else if (!frame.labels.emplace(what, static_cast<std::int32_t>(program_.code.size())).second)
          throw error(what, "a label that is there twice");
        text.remove_prefix(end + 1);
      }
    }
  }

  void statement(Text s, Frame& frame) {
    if (s.empty()) return;
    if (s[0] != '.') return instruction(s, frame);
    const auto kind = s.substr(0, std::min(find_space(s), s.size()));
    if (kind == ".pragma") return;
    if (kind == ".reg")
      names_.declare_registers(s, frame.scopes.back());
    else if (kind == ".param")
      frame.scopes.back().parameters[declaration(around_.text, s).name] = ++parameters_;
    else if (kind == ".shared")
      names_.add_shared(s);
    else if (kind == ".local")
      names_.add_local(s);
    else
      throw error(s, "PTX that is not interpreted");
  }

  void place(Text text) {  // "3 40 5, function_name ..."
    const std::vector<Text> all = words(text);
    std::uint64_t file = 0, line = 0;
    if (all.size() < 2 || !read_number(all[0], file) || !read_number(all[1], line))
      throw error(text, "a .loc without a file and a line");
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

  void instruction(Text s, Frame& frame) {
    Instruction i;
    i.place = place_;
    Text rest = s;
    if (s[0] == '@') {
      const Text guard = s.substr(0, find_space(s));
      i.guard_negated = guard.starts_with("@!");
      if (guard == "@_" || guard == "@!_") throw error(s, "a condition that is no register");
      i.guard = names_.written(guard.substr(i.guard_negated ? 2 : 1), frame.scopes);
      rest = trimmed(s.substr(guard.size()));
    }
    const Text name = rest.substr(0, find_space(rest));
    std::vector<Text> parts = split(name, '.');
    if (parts.empty() || parts[0].empty()) throw error(s, "an instruction is missing");
    const std::vector<Text> operands = split(rest.substr(name.size()), ',');
    for (const Text o : operands)
      if (o.empty()) throw error(s, "an operand is missing");
    if (parts[0] == "call") {
      if (i.guard >= 0) throw error(s, "PTX that is not interpreted");
      return call(s, operands, frame);
    }
    i.text = remember(s);
    if (parts[0] == "bra" || parts[0] == "ret") return jump(s, parts, operands, i, frame);
    if ((parts[0] == "ld" || parts[0] == "st") && parts.size() > 2 && parts[1] == "param" &&
        move_parameter(s, parts, operands, i, frame))
      return;
    // mov with a vector is an operation of its own (conversion.cpp).
    if (parts[0] == "mov" && operands.size() == 2)
      for (std::size_t k = 0; k < 2; ++k)
        if (operands[k][0] == '{') {
          parts[0] = k == 0 ? "unpack" : "pack";
          i.vector =
              static_cast<std::uint8_t>(std::min<std::size_t>(split(inside(operands[k]), ',').size(), 255));
        }
    if (!choose_operation(parts, i)) throw error(s, "PTX that is not interpreted");
    if (parts[0] == "cp" && operands.size() == 3) i.control = 0;
    take_operands(s, operands_of(parts, i), operands, i, frame.scopes);
    // A block has one barrier here, and copies have 16 bytes.
    if ((i.flow == Flow::block_barrier && operands[0] != "0") ||
        (parts[0] == "cp" && operands.size() >= 3 && operands[2] != "16"))
      throw error(s, "PTX that is not interpreted");
    if (parts[0] == "ld") i.control = names_.is_constant(i.row[i.vector]) ? 1 : 0;
    if (parts[0] == "shfl") i.mask = i.row[5];
    if (parts[0] == "vote") i.mask = i.row[2];
    if (parts[0] == "bar" && parts[1] == "warp") i.mask = i.row[0];
    program_.code.push_back(i);
  }

  // bra, and ret, which in an inlined function is a branch to its end.
  void jump(Text s, const std::vector<Text>& parts, const std::vector<Text>& operands, Instruction& i,
            Frame& frame) {
    const bool branch = parts[0] == "bra";
    if (operands.size() != (branch ? 1 : 0)) throw error(s, "another number of operands than it has");
    if (parts.size() > 2 || (parts.size() == 2 && parts[1] != "uni"))
      throw error(s, "PTX that is not interpreted");
    i.flow = branch || frame.inlined ? Flow::branch : Flow::exit;
    if (i.flow == Flow::branch)
      frame.branches.push_back({program_.code.size(), branch ? operands[0] : Text{}});
    program_.code.push_back(i);
  }

  void take_operands(Text s, const char* form, const std::vector<Text>& operands, Instruction& i,
                     Scopes& scopes) {
    if (form == nullptr) throw error(s, "PTX that is not interpreted");
    std::size_t row = 0, addresses = 0, next = 0;
    const auto add = [&](bool writes, Text o) {
      if (o.empty()) throw error(s, "an operand is missing");
      i.written = static_cast<std::uint8_t>(i.written + (writes ? 1 : 0));
      i.row.at(row++) = writes ? names_.written(o, scopes) : names_.read(o, scopes);
    };
    for (const char* f = form; *f != '\0'; ++f) {
      if (next == operands.size()) throw error(s, "another number of operands than it has");
      const Text o = operands[next++];
      const bool writes = *f == 'd' || *f == 'D', digit = f[1] >= '0' && f[1] <= '9';
      const bool several = digit || ((*f == 'D' || *f == 'S') && i.vector > 1);
      if (*f == 'a') {
        const std::size_t which = addresses++;
        i.row.at(row++) = names_.address(o, scopes, i.offset.at(which));
      } else if (*f == 'p') {
        const auto bar = o.find('|');
        add(true, trimmed(o.substr(0, bar)));
        add(true, bar == Text::npos ? "_" : trimmed(o.substr(bar + 1)));
      } else if (several) {
        const std::size_t count = digit ? static_cast<std::size_t>(*++f - '0') : i.vector;
        const std::vector<Text> each = split(inside(o), ',');
        if (o[0] != '{' || o.back() != '}' || each.size() != count)
          throw error(o, "no vector of " + std::to_string(count));
        for (const Text one : each) add(writes, one);
      } else {
        add(writes, o);
      }
    }
    if (next != operands.size()) throw error(s, "another number of operands than it has");
    i.operands = static_cast<std::uint8_t>(row);
  }

  // Parameters of calls are rows, by variable and offset. False for those of the kernel, which lie in memory.
  bool move_parameter(Text s, const std::vector<Text>& parts, const std::vector<Text>& operands,
                      Instruction i, Frame& frame) {
    const bool store = parts[0] == "st";
    if (operands.size() != 2) throw error(s, "another number of operands than it has");
    const Text where = operands[store ? 0 : 1], what = operands[store ? 1 : 0], type = parts.back();
    if (where[0] != '[' || where.back() != ']') throw error(where, "no address");
    const auto plus = inside(where).find('+');
    const auto variable = find_parameter(trimmed(inside(where).substr(0, plus)), frame.scopes);
    if (!variable) return false;
    std::uint64_t offset = 0;
    if (plus != Text::npos &&
        (!read_integer(trimmed(inside(where).substr(plus + 1)), offset) || offset > kMostParameters))
      throw error(where, "an address with no number after its +");
    const std::vector<Text> values = what[0] == '{' ? split(inside(what), ',') : std::vector<Text>{what};
    const std::size_t bytes = bytes_of_type("." + std::string(type));
    if (bytes == 0 || !choose_operation({"mov", type}, i)) throw error(s, "PTX that is not interpreted");
    for (const Text value : values) {
      if (value.empty()) throw error(s, "an operand is missing");
      const std::int32_t row = slot(s, *variable, offset, bytes, store);
      i.row[0] = store ? row : names_.written(value, frame.scopes);
      i.row[1] = store ? names_.read(value, frame.scopes) : row;
      i.written = 1;
      i.operands = 2;
      program_.code.push_back(i);
      offset += bytes;
    }
    return true;
  }

  // The row of a part of a parameter. Parts are read as they were written, or the lowest bytes of one: nvcc writes a b32 of which
  // the function reads a u8.
  std::int32_t slot(Text s, int variable, std::uint64_t offset, std::size_t bytes, bool store) {
    const auto at = parameter_rows_.lower_bound({variable, offset});
    const auto overlaps = [&](const auto& other) {
      return other.first.first == variable && other.first.second < offset + bytes &&
             offset < other.first.second + other.second.bytes;
    };
    const bool behind = at != parameter_rows_.end() && overlaps(*at);
    if (behind && at->first.second == offset &&
        (store ? bytes == at->second.bytes : bytes <= at->second.bytes))
      return at->second.row;
    if (behind || (at != parameter_rows_.begin() && overlaps(*std::prev(at))))
      throw error(s, "a part of an argument has another size elsewhere");
    if (!store) throw error(s, "an argument is read that nobody has written");
    const std::int32_t row = names_.new_row();
    parameter_rows_.insert(at, {{variable, offset}, {row, bytes}});
    return row;
  }

  // call.uni (results), name, (arguments)
  void call(Text s, const std::vector<Text>& operands, Frame& frame) {
    std::size_t next = 0;
    const auto list = [&] {
      const Text o = next < operands.size() ? operands[next] : Text{};
      if (!o.starts_with('(') || !o.ends_with(')')) return std::vector<Text>{};
      ++next;
      return split(inside(o), ',');
    };
    const std::vector<Text> results = list();
    if (next == operands.size()) throw error(s, "an operand is missing");
    const Text name = operands[next++];
    const std::vector<Text> arguments = list();
    const auto callee = around_.functions.find(name);
    if (callee == around_.functions.end()) throw error(name, "a function that is not there is called");
    Frame inner;
    inner.inlined = true;
    Scope& scope = inner.scopes.emplace_back();
    const auto bind = [&](Text declared, const std::vector<Text>& given) {
      const std::vector<Text> all = split(declared, ',');
      if (all.size() != given.size())
        throw error(s, "another number of arguments or results than the function has");
      for (std::size_t k = 0; k < all.size(); ++k) {
        const auto variable = find_parameter(given[k], frame.scopes);
        if (!variable) throw error(given[k], "what is not declared is used");
        scope.parameters[declaration(around_.text, all[k]).name] = *variable;
      }
    };
    bind(callee->second.results, results);
    bind(callee->second.parameters, arguments);
    if (next != operands.size()) throw error(s, "another number of operands than it has");
    const std::int32_t at = place_;
    function(callee->second, inner);
    place_ = at;
  }

  const Surroundings& around_;
  Program program_;
  Names names_;
  std::map<std::pair<int, std::uint64_t>, Slot> parameter_rows_;  // by variable and offset
  std::map<std::string, std::size_t> known_places_;
  int parameters_ = 0, depth_ = 0;
  std::size_t read_ = 0;  // of text
  std::int32_t place_ = -1;
};

}  // namespace

Program link(const Surroundings& around, const Function& entry) { return Linker(around).link(entry); }

}  // namespace assay::cuda::ptx
