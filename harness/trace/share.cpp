#include "share.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/text.h"
#include "together_report.h"
#include "unknown_operator.h"

namespace assay {

Bisection::Share Bisection::judged() const {
  Share s;
  for (const BisectedCall& c : calls) {
    const bool inside = is_inside_another(*this, c);
    const bool is_judged = c.status != BisectedCall::Status::no_reference && c.status != BisectedCall::Status::not_judged;
    const bool own = is_judged && (!c.dumped_as.empty() || c.compared);
    if (!own && !inside && c.dumped_as.empty() && only_moves(c.op)) continue;
    ++s.of_calls;
    s.of_elements += c.elements;
    if (!own && !inside) continue;
    ++s.calls;
    s.elements += c.elements;
  }
  return s;
}

// Which engine it was, how its tensors were found, and how much of the program that is.
std::string quantised_text(const Bisection& b) {
  constexpr std::size_t kMostLayers = 8;
  std::vector<const BisectedCall*> layers;
  bool any = false;
  for (const BisectedCall& c : b.calls) {
    any = any || !c.quantised.empty();
    if (c.signal_to_noise) layers.push_back(&c);
  }
  if (!any) return {};
  std::ranges::stable_sort(layers, {}, [](const BisectedCall* c) { return *c->signal_to_noise; });
  std::string s = paragraph(
      "The engine keeps numbers as integers. That is no fault where they are the nearest that the step allows. Signal to "
      "noise of the results beside PyTorch's, the lowest first:",
      "", "  ");
  for (std::size_t k = 0; k < std::min(layers.size(), kMostLayers); ++k) {
    const BisectedCall& c = *layers[k];
    s += paragraph(printable(fmt::format("{:6.1f} dB  {}{}{}", *c.signal_to_noise, c.name, c.quantised.empty() ? "" : "; ",
                                         fmt::join(c.quantised, "; "))),
                   "  ", "              ");
  }
  if (layers.size() > kMostLayers)
    s += fmt::format("  {} with less noise\n", counted(layers.size() - kMostLayers, "further result"));
  return s;
}

std::string share_text(const Bisection& b) {
  std::string s;
  if (!b.engine.empty()) {
    std::string settings;
    for (const auto& [name, value] : b.settings) settings += fmt::format(", {} = {}", name, value);
    s += paragraph(printable(fmt::format("Engine: {}{}.", b.engine, settings)), "", "  ");
    s += paragraph(
        fmt::format("Results were matched with the engine's by their module ({}), by their numbers ({}) and by their place in "
                    "the graph ({}).",
                    b.by_module, b.by_numbers, b.by_place),
        "", "  ");
  }
  const Bisection::Share share = b.judged();
  return s + paragraph(fmt::format("Judged: {} of {}, {} of {}.", share.calls, counted(share.of_calls, "call"),
                                   grouped(share.elements), counted(share.of_elements, "element")),
                       "", "  ");
}

}  // namespace assay
