// The matrix operator x kernel x dtype.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "html_page.h"
#include "html_text.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostColumns = 160;  // with one for each dtype
constexpr std::size_t kMostKernelColumns = 60;
constexpr std::size_t kLongestMatrixName = 60;

struct DtypeOrder {
  bool operator()(const std::string& a, const std::string& b) const { return dtype_before(a, b); }
};

// What one cell stands for: one row, or those of all dtypes.
struct MatrixCell {
  const Row* worst = nullptr;
  std::uint64_t rows = 0, failing = 0;

  void add(const Row& row) {
    ++rows;
    failing += is_fault(row.verdict) || row.verdict == Verdict::vacuous || fails(row, {}) ? 1 : 0;
    const auto severity = [](const Row& r) { return std::pair(is_fault(r.verdict) || fails(r, {}), r.verdict); };
    if (worst == nullptr || severity(row) > severity(*worst)) worst = &row;
  }
};

using KernelKey = std::pair<bool, std::string>;  // peers after ours

struct Matrix {
  std::set<std::string> idle;  // kernels that ran nothing: a column of theirs would say nothing
  std::map<KernelKey, std::set<std::string, DtypeOrder>> kernels;
  std::map<std::string, std::map<std::pair<KernelKey, std::string>, MatrixCell>> operators;
  bool by_dtype = true;
};

Matrix matrix_of(const RunResult& run) {
  Matrix m;
  std::set<std::string> ran;
  for (const Row& row : run.rows)
    if (row.verdict != Verdict::not_run) ran.insert(row.impl);
  std::size_t columns = 0;
  for (const Row& row : run.rows)
    if (!ran.contains(row.impl))
      m.idle.insert(row.impl);
    else
      columns += m.kernels[{row.peer, row.impl}].insert(row.dtype).second ? 1 : 0;
  m.by_dtype = columns <= kMostColumns;
  for (const Row& row : run.rows)
    if (ran.contains(row.impl))
      m.operators[row.op][{{row.peer, row.impl}, m.by_dtype ? row.dtype : ""}].add(row);
  return m;
}

std::string cell_html(const Page& page, const ReportedRun& run, const MatrixCell& cell, bool first,
                      bool by_dtype) {
  const Row& row = *cell.worst;
  std::string classes =
      fmt::format("{}{}{}", mark_class(row), row.peer ? " peer" : "", first ? " first" : "");
  if (by_dtype && row_token(row) == token(Verdict::pass))
    return fmt::format("<td class=\"{}\">{}</td>", classes, mark(row));
  const std::string text = by_dtype ? std::string(mark(row))
                           : cell.failing > 0
                               ? fmt::format("{} {}/{}", mark(row), cell.failing, cell.rows)
                               : fmt::format("{} {}", mark(row), cell.rows);
  return fmt::format(
      "<td class=\"{}\"><a href=\"{}\" title=\"{}\">{}</a></td>", classes, row_link(page, run, row),
      html_text(fmt::format("{} {} {}: {}", shortened(row.op, kLongestMatrixName),
                            shortened(row.impl, kLongestMatrixName), row.dtype, row_words(row))),
      text);
}

std::string head_html(const Matrix& m, const std::vector<KernelKey>& kernels) {
  std::string first = "<tr><th scope=\"col\">operator</th>", second = "<tr class=\"dtypes\"><td></td>";
  for (const KernelKey& key : kernels) {
    const auto& dtypes = m.kernels.at(key);
    first += fmt::format("<th scope=\"colgroup\" class=\"first\"{}>{}{}</th>",
                         m.by_dtype ? fmt::format(" colspan=\"{}\"", dtypes.size()) : "",
                         html_text(shortened(key.second, kLongestMatrixName)),
                         key.first ? " <small>peer</small>" : "");
    bool begins = true;
    for (const std::string& dtype : dtypes) {
      second += fmt::format("<th scope=\"col\"{}>{}</th>", begins ? " class=\"first\"" : "",
                            html_text(shortened(dtype, 8)));
      begins = false;
    }
  }
  return "<thead>" + first + "</tr>\n" + (m.by_dtype ? second + "</tr>\n" : "") + "</thead>\n";
}

std::string legend_html(const RunResult& run) {
  std::array<std::uint64_t, kVerdicts> counts{};
  std::map<std::string, std::pair<std::string, std::uint64_t>> otherwise;  // words -> badge, rows
  for (const Row& row : run.rows) {
    if (row_token(row) == token(row.verdict)) {
      ++counts[static_cast<std::size_t>(row.verdict)];
      continue;
    }
    auto& [shown, rows] = otherwise[row_words(row)];
    shown = badge(row);
    ++rows;
  }
  std::string s = "<p class=\"legend\">";
  for (const auto& [said, counted] : otherwise)
    s += fmt::format("<span>{} {} {}</span> ", counted.first, said, grouped(counted.second));
  for (int v = 0; v < kVerdicts; ++v)
    if (counts[static_cast<std::size_t>(v)] > 0)
      s += fmt::format("<span>{} {} {}</span> ", badge(static_cast<Verdict>(v)),
                       words(static_cast<Verdict>(v)), grouped(counts[static_cast<std::size_t>(v)]));
  return s + "</p>\n";
}

}  // namespace

void add_matrix(Page& page, const ReportedRun& run) {
  if (run.run.rows.empty()) return;
  const Matrix m = matrix_of(run.run);
  if (m.operators.empty()) return;
  page.topic("Operators, kernels and dtypes", fmt::format("{}, {}", counted(m.operators.size(), "operator"),
                                                          counted(m.kernels.size(), "kernel")));
  std::vector<KernelKey> kernels;
  for (const auto& kernel : m.kernels)
    if (kernels.size() < kMostKernelColumns) kernels.push_back(kernel.first);
  // Where there are too many operators, those with something to look at come first.
  std::vector<const std::string*> names;
  for (const auto& [op, cells] : m.operators) names.push_back(&op);
  const auto failing = [&](const std::string* op) {
    const auto& cells = m.operators.at(*op);
    return std::any_of(cells.begin(), cells.end(), [](const auto& c) { return c.second.failing > 0; });
  };
  const std::size_t all = names.size();
  std::size_t columns = 0;
  for (const KernelKey& key : kernels) columns += m.by_dtype ? m.kernels.at(key).size() : 1;
  const std::size_t most = std::max<std::size_t>(1, page.limits.matrix_cells / columns);
  if (all > most) {
    std::stable_partition(names.begin(), names.end(), failing);
    names.resize(most);
  }
  page.body += legend_html(run.run);
  page.body += fmt::format("<div class=\"wide\"><table class=\"matrix{}\">\n{}<tbody>\n",
                           m.by_dtype ? "" : " summed", head_html(m, kernels));
  for (const std::string* op : names) {
    const auto& cells = m.operators.at(*op);
    page.body += fmt::format("<tr><th scope=\"row\"><a href=\"#find-r:{}\">{}</a></th>", fragment(*op),
                             html_text(shortened(*op, kLongestMatrixName)));
    for (const KernelKey& key : kernels) {
      static const std::set<std::string, DtypeOrder> kWhole{""};
      bool first = true;
      for (const std::string& dtype : m.by_dtype ? m.kernels.at(key) : kWhole) {
        const auto found = cells.find({key, dtype});
        page.body += found != cells.end() ? cell_html(page, run, found->second, first, m.by_dtype)
                     : first              ? "<td class=\"first\"></td>"
                                          : "<td></td>";
        first = false;
      }
    }
    page.body += "</tr>\n";
  }
  page.body += "</tbody></table></div>\n";
  if (!m.idle.empty())
    page.body += fmt::format("<p class=\"note\">Nothing ran of {}: see below.</p>\n",
                             html_text(shortened(fmt::format("{}", fmt::join(m.idle, ", ")), 500)));
  if (names.size() < all)
    page.body += fmt::format(
        "<p class=\"note\">{} more are in the table of all rows; those with faults are shown first.</p>\n",
        counted(all - names.size(), "operator"));
  if (kernels.size() < m.kernels.size())
    page.body += fmt::format("<p class=\"note\">{} more are in the table of all rows.</p>\n",
                             counted(m.kernels.size() - kernels.size(), "kernel"));
}

}  // namespace assay
