#include "grid.h"

#include <algorithm>
#include <map>
#include <vector>

#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kWidestName = 40;
constexpr std::size_t kCasesColumn = 11;
constexpr std::size_t kGap = 2;

struct Kernel {
  std::string name;
  bool peer = false;
  std::map<std::string, const Row*> rows;  // by dtype
};

struct Group {
  std::string op;
  std::vector<std::string> dtypes;
  std::vector<Kernel> kernels;  // peers last
};

std::vector<Group> group_by_operator(const RunResult& run) {
  std::vector<Group> groups;
  for (const Row& row : run.rows) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.op == row.op; });
    if (group == groups.end()) group = groups.insert(groups.end(), {row.op, {}, {}});
    if (std::find(group->dtypes.begin(), group->dtypes.end(), row.dtype) == group->dtypes.end())
      group->dtypes.push_back(row.dtype);
    auto kernel = std::find_if(group->kernels.begin(), group->kernels.end(),
                               [&](const Kernel& k) { return k.name == row.impl && k.peer == row.peer; });
    if (kernel == group->kernels.end())
      kernel = group->kernels.insert(group->kernels.end(), {row.impl, row.peer, {}});
    kernel->rows[row.dtype] = &row;
  }
  for (Group& g : groups)
    std::stable_sort(g.kernels.begin(), g.kernels.end(),
                     [](const Kernel& a, const Kernel& b) { return a.peer < b.peer; });
  return groups;
}

std::string label(const Kernel& kernel) {
  return "  " + printable(kernel.name) + (kernel.peer ? " (peer)" : "");
}

std::uint64_t faulty_cases(const Row& row) {
  std::uint64_t n = 0;
  for (int v = 0; v < kVerdicts; ++v)
    if (is_fault(static_cast<Verdict>(v))) n += count_of(row, static_cast<Verdict>(v));
  return n;
}

std::string undecidable(const Row& row) {
  if (row.undecidable() <= 0) return {};
  return row.undecidable() < 0.001 ? " ~<0.1%" : fmt::format(" ~{:.1f}%", 100 * row.undecidable());
}

std::string fault_word(Verdict v) {
  switch (v) {
    case Verdict::wrongly_accepted:
      return "accepted";
    case Verdict::wrongly_rejected:
      return "rejected";
    default:
      return std::string(token(v));
  }
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string cell_text(const Row& row, const Rules& rules) {
  const bool loud = fails(row, rules);
  const auto word = [&](std::string w) { return loud ? upper(std::move(w)) : w; };
  if (is_fault(row.verdict))
    return fmt::format("{} {}", word(fault_word(row.verdict)), grouped(faulty_cases(row)));
  if (row_token(row, rules) == kUndeclaredRefusal) return word("undeclared");
  switch (row.verdict) {
    case Verdict::pass:
    case Verdict::suspicious:
      return fmt::format("{} {:.2f}{}", word(std::string(token(row.verdict))), row.worst, undecidable(row));
    case Verdict::vacuous:
      return word("vacuous") + undecidable(row);
    case Verdict::not_run:
      return row.reason == kNoCases ? "no cases" : "not run";
    default:
      return word(std::string(token(row.verdict)));
  }
}

std::string styled_cell(const Row& row, const Rules& rules, const Style& style, std::size_t columns) {
  const std::string text = pad_right(cell_text(row, rules), columns);
  if (fails(row, rules)) return style.bad(text);
  if (is_fault(row.verdict) || row.verdict == Verdict::vacuous || row.verdict == Verdict::suspicious)
    return style.doubtful(text);
  return row.verdict == Verdict::pass ? style.good(text) : style.faint(text);
}

std::uint64_t cases(const Kernel& kernel) {
  std::uint64_t n = 0;
  for (const auto& [dtype, row] : kernel.rows) n += row->cases;
  return n;
}

// One group of columns of one operator; `dtypes` fit beside each other.
std::string block(const Group& group, std::vector<std::string> dtypes, bool first, std::size_t name_columns,
                  std::size_t cell_columns, const Rules& rules, const Style& style) {
  std::string title = printable(group.op) + (first ? "" : " (more dtypes)");
  std::string out;
  if (width(title) + kGap > name_columns) {
    out += paragraph(title, "", "  ");
    title.clear();
  }
  // Nothing stands after the last cell of a line without a number of cases.
  const auto columns = [&](const std::string& dtype) {
    return first || dtype != dtypes.back() ? cell_columns : 0;
  };
  std::string header = pad_right(title, name_columns);
  for (const std::string& dtype : dtypes) header += pad_right(printable(dtype), columns(dtype));
  out += style.heading(header + (first ? pad_left("cases", kCasesColumn) : "")) + "\n";
  for (const Kernel& kernel : group.kernels) {
    std::string name = label(kernel);
    if (width(name) + kGap > name_columns) {
      out += paragraph(name, "  ", "    ");
      name.clear();
    }
    out += pad_right(name, name_columns);
    for (const std::string& dtype : dtypes) {
      const auto row = kernel.rows.find(dtype);
      out += row == kernel.rows.end() ? pad_right("-", columns(dtype))
                                      : styled_cell(*row->second, rules, style, columns(dtype));
    }
    out += first ? pad_left(grouped(cases(kernel)), kCasesColumn) : "";
    out += "\n";
  }
  return out;
}

}  // namespace

std::string grid(const RunResult& run, const Rules& rules, const Style& style) {
  const std::vector<Group> groups = group_by_operator(run);
  std::size_t name_columns = 0;
  std::size_t cell_columns = 0;
  for (const Group& g : groups) {
    name_columns = std::max(name_columns, width(g.op));
    for (const Kernel& k : g.kernels) name_columns = std::max(name_columns, width(label(k)));
  }
  for (const Row& row : run.rows)
    cell_columns = std::max({cell_columns, width(cell_text(row, rules)), width(row.dtype)});
  name_columns = std::min(name_columns, kWidestName) + kGap;
  cell_columns += kGap;
  const std::size_t per_block =
      std::max<std::size_t>(1, (kTextWidth - name_columns - kCasesColumn) / cell_columns);

  std::string out;
  for (const Group& g : groups) {
    for (std::size_t at = 0; at < g.dtypes.size(); at += per_block) {
      const auto begin = g.dtypes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          g.dtypes.begin() + static_cast<std::ptrdiff_t>(std::min(at + per_block, g.dtypes.size()));
      out += block(g, {begin, end}, at == 0, name_columns, cell_columns, rules, style);
    }
    out += "\n";
  }
  return out;
}

}  // namespace assay
