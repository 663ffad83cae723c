#include "match.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "content.h"
#include "reports/file.h"

namespace assay::diff {
namespace {

constexpr std::uint64_t kCompared = 4096;
constexpr double kMostly = 0.5;

// Evenly spread elements of a tensor: the same ones of all that have its shape.
class Excerpt {
 public:
  Excerpt(const TensorFile& file, const TensorEntry& entry) : dtype_(entry.dtype) {
    const Content content(file, entry);
    const Elements all = content.elements();
    const std::uint64_t n = all.count(), step = std::max<std::uint64_t>(1, n / kCompared);
    for (std::uint64_t i = 0; i < n; i += step) {
      const auto one = all.bytes.subspan(i * width(), width());
      bytes_.insert(bytes_.end(), one.begin(), one.end());
    }
  }
  std::size_t count() const { return bytes_.size() / width(); }
  Elements operator[](std::size_t i) const {
    return {std::span(bytes_).subspan(i * width(), width()), dtype_};
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(bytes(dtype_)); }

  Dtype dtype_;
  std::vector<std::byte> bytes_;
};

// The share of elements that are equal or nearly so. Zeros on both sides prove nothing.
double likeness(const Excerpt& a, const Excerpt& b) {
  std::uint64_t alike = 0, tried = 0;
  for (std::size_t i = 0; i < a.count(); ++i) {
    const Elements x = a[i], y = b[i];
    if (x[0] == 0 && y[0] == 0) continue;
    ++tried;
    alike += compare(x, y).worst <= Class::small ? 1 : 0;
  }
  return tried == 0 ? 0 : static_cast<double>(alike) / static_cast<double>(tried);
}

class Matcher {
 public:
  Matcher(const TensorFile& a, const TensorFile& b) : a_(a), b_(b) {
    for (std::size_t i = 0; i < a.entries().size(); ++i) left_a_.insert(i);
    for (std::size_t i = 0; i < b.entries().size(); ++i) left_b_.insert(i);
  }

  void by_map(const NameMap& map) {
    for (const auto& [in_a, in_b] : map) take(a_.entry(in_a).index, b_.entry(in_b).index, "--map");
  }
  void by_name() {
    std::map<std::string, std::size_t> names;
    for (const std::size_t i : left_b_) names[b_.entries()[i].name] = i;
    for (const std::size_t i : std::set<std::size_t>(left_a_))
      if (const auto found = names.find(a_.entries()[i].name); found != names.end())
        take(i, found->second, "");
  }
  void the_only_ones() {
    if (a_.entries().size() == 1 && b_.entries().size() == 1 && left_a_.size() == 1)
      take(0, 0, "the only tensor of each file");
  }
  void by_content() {
    for (const std::size_t i : std::set<std::size_t>(left_a_)) {
      const TensorEntry& e = a_.entries()[i];
      std::vector<std::size_t> alike;
      std::optional<Excerpt> x;
      for (const std::size_t j : left_b_) {
        if (b_.entries()[j].shape != e.shape || e.size == 0) continue;
        if (!x) x.emplace(a_, e);
        if (likeness(*x, excerpt_of_b(j)) >= kMostly) alike.push_back(j);
      }
      if (alike.size() == 1) take(i, alike[0], "same shape, and most numbers alike; the names differ");
    }
  }

  Matching result() {
    Matching m;
    std::ranges::sort(pairs_, {}, &Pair::a);
    m.pairs = std::move(pairs_);
    m.only_a.assign(left_a_.begin(), left_a_.end());
    m.only_b.assign(left_b_.begin(), left_b_.end());
    for (const std::size_t i : m.only_a) {
      const TensorEntry& e = a_.entries()[i];
      std::optional<Excerpt> x;
      std::optional<Likely> best;
      for (const std::size_t j : m.only_b) {
        if (b_.entries()[j].shape != e.shape || e.size == 0) continue;
        if (!x) x.emplace(a_, e);
        const double alike = likeness(*x, excerpt_of_b(j));
        if (!best || alike > best->alike) best = {i, j, alike};
      }
      if (best) m.likely.push_back(*best);
    }
    return m;
  }

 private:
  void take(std::size_t a, std::size_t b, std::string how) {
    pairs_.push_back({a, b, std::move(how)});
    left_a_.erase(a);
    left_b_.erase(b);
  }
  // Read once: a tensor of a compressed file is unpacked whole.
  const Excerpt& excerpt_of_b(std::size_t b) {
    return excerpts_b_.try_emplace(b, b_, b_.entries()[b]).first->second;
  }

  const TensorFile& a_;
  const TensorFile& b_;
  std::set<std::size_t> left_a_, left_b_;
  std::map<std::size_t, Excerpt> excerpts_b_;
  std::vector<Pair> pairs_;
};

constexpr std::string_view kWhite = " \t\r\v\f";

// A name in quotation marks, of which this is the text after the first; `rest` becomes what follows the last. Nothing if that is
// missing.
std::optional<std::string> quoted_name(std::string_view& rest) {
  std::string name;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return name;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    name += rest[i];
  }
  return std::nullopt;
}

// The names of a line, without its comment. Throws FileError.
std::vector<std::string> names_of_line(std::string_view line, const std::string& where) {
  std::vector<std::string> names;
  for (;;) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(kWhite)));
    if (line.empty() || line.front() == '#') return names;
    if (line.front() != '"') {
      const std::size_t end = std::min(line.size(), line.find_first_of(kWhite));
      names.emplace_back(line.substr(0, end));
      line.remove_prefix(end);
      continue;
    }
    line.remove_prefix(1);
    const auto name = quoted_name(line);
    if (!name) throw FileError(where + "a quotation mark is not closed");
    if (!line.empty() && kWhite.find(line.front()) == std::string_view::npos)
      throw FileError(where + "after a name in quotation marks comes a space");
    if (name->empty()) throw FileError(where + "a name is empty");
    names.push_back(*name);
  }
}

}  // namespace

NameMap read_name_map(const std::string& path) {
  NameMap map;
  std::istringstream lines(read_file(path));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("cannot read {}: line {}: ", path, ++number);
    const std::vector<std::string> names = names_of_line(line, where);
    if (names.empty()) continue;
    if (names.size() != 2)
      throw FileError(where +
                      "write the name in A, a space, and the name in B; a name with spaces stands in \"..\"");
    if (!map.emplace(names[0], names[1]).second)
      throw FileError(fmt::format("{}{} stands there twice", where, names[0]));
  }
  return map;
}

Matching match(const TensorFile& a, const TensorFile& b, const NameMap& map) {
  Matcher matcher(a, b);
  matcher.by_map(map);
  matcher.by_name();
  matcher.the_only_ones();
  matcher.by_content();
  return matcher.result();
}

}  // namespace assay::diff
