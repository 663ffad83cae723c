// Which planted faults were found.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "html_page.h"
#include "html_text.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostListed = 200;
constexpr double kBarLeft = 170, kBarWidth = 360, kBarStep = 26;

std::string percent_of(std::uint64_t found, std::uint64_t of) {
  if (of == 0) return "-";
  const double percent = 100.0 * static_cast<double>(found) / static_cast<double>(of);
  return found == of ? "100%"
                     : fmt::format("{:.1f}%", std::min(percent, 99.9));  // 100% only where all were found
}

// A bar for Assay and for each other way of comparing.
std::string score_chart(const MutationScore& score, const std::map<std::string, std::uint64_t>& alarms,
                        std::uint64_t our_alarms) {
  struct Bar {
    std::string name;
    std::uint64_t found, alarms;
  };
  std::vector<Bar> bars{{"Assay", score.found, our_alarms}};
  for (const auto& [name, found] : score.by) {
    const auto alarm = alarms.find(name);
    bars.push_back({name, found, alarm == alarms.end() ? 0 : alarm->second});
  }
  std::stable_sort(bars.begin() + 1, bars.end(),
                   [](const Bar& a, const Bar& b) { return a.found > b.found; });
  std::string s = "<figure class=\"chart\">\n" + svg_begin(kBarLeft + kBarWidth + 300,
                                                           kBarStep * static_cast<double>(bars.size()) + 8,
                                                           "planted faults that were found");
  double y = 4;
  for (const Bar& b : bars) {
    const double share =
        score.observable == 0 ? 0 : static_cast<double>(b.found) / static_cast<double>(score.observable);
    s += svg_label(kBarLeft - 10, y + 15, shortened(b.name, 24), &b == bars.data() ? "strong" : "", "end");
    s += fmt::format(
        "<rect class=\"track\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"14\"/><rect class=\"bar{3}\" x=\"{0}\" y=\"{1}\" width=\"{4}\" height=\"14\"/>\n",
        coordinate(kBarLeft), coordinate(y + 4), coordinate(kBarWidth), &b == bars.data() ? "" : " other",
        coordinate(kBarWidth * share));
    s += svg_label(kBarLeft + kBarWidth + 10, y + 15,
                   fmt::format("{} {}{}", grouped(b.found), percent_of(b.found, score.observable),
                               b.alarms > 0 ? fmt::format(", {}", counted(b.alarms, "false alarm")) : ""),
                   &b == bars.data() ? "strong" : "faint");
    y += kBarStep;
  }
  return s + std::string(kSvgEnd) + "</figure>\n";
}

std::string fault_table(const std::vector<const PlantedFault*>& faults, bool unobservable) {
  std::string s = fmt::format(
      "<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">operator</th><th scope=\"col\">dtype</th><th scope=\"col\">variant</th>"
      "<th scope=\"col\">what it does</th>{}</tr></thead><tbody>\n",
      unobservable ? "<th scope=\"col\">why nobody can tell</th>" : "");
  for (std::size_t i = 0; i < std::min(faults.size(), kMostListed); ++i) {
    const PlantedFault& p = *faults[i];
    s +=
        fmt::format("<tr><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td>{}</tr>\n", html_text(p.op),
                    html_text(p.dtype), html_text(p.variant), html_text(shortened(p.says, 300)),
                    unobservable ? "<td>" + html_text(shortened(p.unobservable, 300)) + "</td>" : "");
  }
  s += "</tbody></table></div>\n";
  if (faults.size() > kMostListed)
    s += fmt::format("<p class=\"note\">and {} more in the file</p>\n", grouped(faults.size() - kMostListed));
  return s;
}

std::string operator_table(const SelftestFile& file) {
  std::map<std::string, MutationScore> scores;
  for (const PlantedFault& p : file.planted) scores[p.op].add(p);
  std::string s =
      "<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">operator</th><th scope=\"col\" class=\"number\">can be observed</th>"
      "<th scope=\"col\" class=\"number\">found</th><th scope=\"col\" class=\"number\">share</th><th scope=\"col\" class=\"number\">cannot be observed</th></tr></thead><tbody>\n";
  for (const auto& [op, score] : scores)
    s += fmt::format(
        "<tr{}><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        score.survived() > 0 ? " class=\"bad\"" : "", html_text(op), grouped(score.observable),
        grouped(score.found), percent_of(score.found, score.observable), grouped(score.unobservable));
  return s + "</tbody></table></div>\n";
}

void add_selftest(Page& page, const SelftestFile& file) {
  const MutationScore score = score_of(file);
  std::map<std::string, std::uint64_t> alarms;
  std::vector<const RightKernel*> ours;
  for (const RightKernel& c : file.controls) {
    if (!c.alarm.empty()) ours.push_back(&c);
    for (const auto& [name, alarm] : c.by) alarms[name] += alarm ? 1 : 0;
  }
  std::vector<const PlantedFault*> survived, unobservable;
  for (const PlantedFault& p : file.planted) {
    if (p.survived()) survived.push_back(&p);
    if (!p.found && !p.unobservable.empty()) unobservable.push_back(&p);
  }
  page.body += fmt::format(
      "<p><b>{} of {} found</b> ({}). {} more cannot be observed. {} of right kernels, {} called wrong. {}, seed {}.</p>\n",
      grouped(score.found), counted(score.observable, "planted fault"),
      percent_of(score.found, score.observable), grouped(score.unobservable),
      counted(file.controls.size(), "row"), grouped(ours.size()), duration(file.seconds), file.seed);
  page.figure("mutants", score_chart(score, alarms, ours.size()));
  if (!survived.empty()) {
    page.topic("Survived", "faults like these would not be found");
    page.body += fault_table(survived, false);
  }
  if (!ours.empty()) {
    page.topic("False alarms", "right kernels that were called wrong");
    page.body += "<ul>\n";
    for (std::size_t i = 0; i < std::min(ours.size(), kMostListed); ++i)
      page.body += fmt::format("<li>{} <span class=\"kernel\">{}</span> {}: {}</li>\n",
                               html_text(ours[i]->op), html_text(ours[i]->kernel), html_text(ours[i]->dtype),
                               html_text(shortened(ours[i]->alarm, 300)));
    page.body += "</ul>\n";
  }
  page.body += fmt::format("<details><summary>By operator</summary>\n{}</details>\n", operator_table(file));
  if (!unobservable.empty())
    page.body +=
        fmt::format("<details><summary>{} that a right kernel may do as well</summary>\n{}</details>\n",
                    counted(unobservable.size(), "variant"), fault_table(unobservable, true));
}

}  // namespace

void add_mutation(Page& page) {
  std::size_t number = 0;
  for (const SelftestFile& file : page.report.selftests) {
    const bool many = page.report.selftests.size() > 1;
    page.section(many ? fmt::format("mutation-{}", ++number) : "mutation", "Would a fault be found?",
                 many ? file.name : "");
    add_selftest(page, file);
  }
}

}  // namespace assay
