#include "explains.h"

#include <algorithm>
#include <vector>

#include "suspects.h"
#include "whole.h"

namespace assay::diagnose {

std::optional<bool> explains(const std::string& cause, Evidence& evidence) {
  const Operator& op = *evidence.call().op;
  std::vector<Variant> all = suspects_of(op);
  for (Variant& v : further_suspects_of(op)) all.push_back(std::move(v));
  Hypothesis h;
  constexpr std::string_view kAnd = " + ";
  for (std::size_t begin = 0; begin <= cause.size();) {
    const std::size_t end = std::min(cause.find(kAnd, begin), cause.size());
    const auto found =
        std::ranges::find(all, std::string_view(cause).substr(begin, end - begin), &Variant::name);
    if (found == all.end()) return std::nullopt;
    h.faults.push_back(&*found);
    begin = end + kAnd.size();
  }
  Evidence* const one[] = {&evidence};
  Predictions p(h, one);
  if (!p.any()) return false;
  const Elements elements(one);
  const auto admits = [&](const Elements::Place& at) { return p.admits(at); };
  return std::ranges::all_of(elements.wrong(), admits) && std::ranges::all_of(elements.right(), admits) &&
         on_the_whole(one, p).holds();
}

}  // namespace assay::diagnose
