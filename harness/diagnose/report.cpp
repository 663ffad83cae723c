// What a diagnosis says: as one line, and as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "diagnosis.h"
#include "reports/text.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostListed = 6;

std::string percent(double share) {
  if (share > 0.9995 && share < 1) return "99.9%";
  return fmt::format("{:.{}f}%", share * 100, share < 1 && share > 0 ? 1 : 0);
}

std::string line(std::string_view said) { return paragraph(said, "  ", "  "); }
// On one line, however long, so that it can be copied.
std::string copyable(std::string_view case_text) { return fmt::format("    {}\n", printable(case_text)); }

std::string names(const std::vector<Named>& all) {
  std::vector<std::string> each;
  for (const Named& c : all) each.push_back(fmt::format("{} ({})", c.says, c.name));
  return first_of(each, kMostListed, "; ");
}

// "All 12 elements looked at are", "The one element is"
std::string all_of(std::uint64_t elements, std::string_view which) {
  const std::string_view space = which.empty() ? "" : " ";
  return elements == 1 ? fmt::format("The one element{}{} is", space, which)
                       : fmt::format("All {} elements{}{} are", grouped(elements), space, which);
}

std::string as_it_says(const Named& c, const Diagnosis& d) {
  if (!c.whole) return all_of(d.tried, "looked at") + " as it says.";
  if (c.whole->unread == 0) return all_of(c.whole->elements, "") + " as it says.";
  const std::uint64_t others = c.whole->read + c.whole->unread;
  return fmt::format(
      "Of {} elements {} are what it gives, to the bit, or right where it changes nothing; of the others those that are "
      "farthest from it and some more, {}, were looked at, and are as it says.",
      grouped(c.whole->elements), others < c.whole->elements ? grouped(c.whole->elements - others) : "none",
      grouped(c.whole->read));
}

std::string proof(const Named& c, const Diagnosis& d) {
  std::string s;
  if (c.discriminating > 0)
    s = fmt::format(
        "Of the elements looked at, it differs from the reference on {}: {}/{} match it, 0 match the reference. ",
        c.discriminating, c.matched, c.discriminating);
  if (c.explains_all) {
    s += as_it_says(c, d);
    if (c.discriminating == 0)
      s += " That is no proof: at every element, some results are as both it and the reference say.";
    else if (c.beside_arithmetic)
      s += " That is no proof: beside arithmetic in fewer bits, much fits.";
    return s;
  }
  return s +
         fmt::format("It explains {} of {} diverging elements, and {} of {} others would be wrong with it.",
                     c.explained, d.tried_diverging, c.broken, d.tried - d.tried_diverging);
}

std::string where_text(const Where& w, bool several) {
  std::string s = several ? w.output + ": " : std::string();
  s += fmt::format("{} of {} elements diverge", grouped(w.diverging), grouped(w.elements));
  if (w.diverging == 0) return line(s + ".");
  if (!w.rule)
    s += ", at places that no rule of coordinates, sizes or signs describes.";
  else if (w.rule->text == "everywhere")
    s += w.diverging == w.elements ? ", everywhere." : ", almost everywhere.";
  else
    s += fmt::format(". Where {}: {} of these elements diverge, and {} of those that do.", w.rule->text,
                     percent(w.rule->precision), percent(w.rule->recall));
  std::string out = line(s);
  if (w.small && !(w.rule && w.rule->text == "everywhere")) out += diff::to_text(*w.small, "  ");
  if (w.rearranged) out += line(fmt::format("The result is the right one rearranged: {}.", *w.rearranged));
  return out;
}

std::string inverted_text(const Inverted& i) {
  return line(fmt::format("{} that was used, as the results show: {}. So {} of the elements come out.",
                          i.argument == "the result" ? "Factor and offset of the result" : i.argument, i.says,
                          percent(i.reproduced)));
}

// Whether the results are right by the definition of others.
bool is_defined_otherwise(const Diagnosis& d) {
  return d.kind == Diagnosis::Kind::named && d.causes[0].proven && !d.causes[0].definition.empty();
}

// What a result is of the right one, where that is all that is known.
const Where* rearranged(const Diagnosis& d) {
  const auto found = std::ranges::find_if(d.where, [](const Where& w) { return w.rearranged.has_value(); });
  return found == d.where.end() ? nullptr : &*found;
}

std::string heading(const Diagnosis& d, Style style) {
  if (d.stages && !verdict(*d.stages).empty()) return style.bad(heading(*d.stages));
  switch (d.kind) {
    case Diagnosis::Kind::no_fault:
      return style.good("No fault");
    case Diagnosis::Kind::named:
      if (is_defined_otherwise(d)) return style.bad("Another definition");
      return !d.causes[0].proven ? style.doubtful("A cause fits") : style.bad("Cause found");
    case Diagnosis::Kind::ambiguous:
      return style.doubtful(d.same.empty() ? "A cause may fit" : "Several causes fit");
    case Diagnosis::Kind::no_results:
      return style.doubtful("Nothing to look at");
    case Diagnosis::Kind::recovered:
      return style.bad("Parameters recovered");
    case Diagnosis::Kind::partly:
      return style.doubtful("Explained in part");
    case Diagnosis::Kind::undecided:
      return style.doubtful("Not decided");
    case Diagnosis::Kind::unknown:
      break;
  }
  if (rearranged(d)) return style.bad("Result rearranged");
  return style.doubtful(d.unrelated ? "Unrelated results" : "Cause unknown");
}

// "12,000", "4.4e+09", "1.3"
std::string times(double x) {
  return x < 10    ? fmt::format("{:.3g}", x)
         : x < 1e6 ? grouped(static_cast<std::uint64_t>(x))
                   : fmt::format("{:.2g}", x);
}

std::string how_wide(const Strictest& s) {
  return fmt::format(
      "{} times as wide as kernels of this kind err on this data, of which these results err {} times as much",
      times(1 / s.typical), times(s.used / s.typical));
}

std::string strictest_text(const Strictest& s) {
  std::string all =
      line(fmt::format("The strictest contract under which {} elements looked at are right: {}.",
                       grouped(s.looked_at), s.contract));
  if (s.needs.empty())
    all += line(
        "So they are right as results of a kernel that rounds each operation once, and adds in 16 partial sums or more.");
  for (const Allowance& a : s.needs)
    all += line(fmt::format(
        "They need a kernel that {} ({}): {} {}.", a.says, a.clause, a.otherwise,
        std::isfinite(a.excess)
            ? fmt::format("the farthest would be {} bounds from the right result, a fault", times(a.excess))
            : "no error at all would be allowed where they have one"));
  if (s.decided()) return all;
  return all +
         line(
             "That bound is " + how_wide(s) +
             ": a fault of that size would not be seen. A contract that says what the kernel does decides it "
             "(--contract), or a call with fewer terms, or with numbers whose mean is nearer to zero.");
}

std::string or_as_near(const Nearer& n) {
  return n.as_near.empty() ? std::string() : ", or " + first_of(n.as_near, 3);
}

// "exp=8ulp, or div=16"
std::string clauses(const Admitting& a) {
  return a.clause + (a.or_else.empty() ? "" : ", or " + first_of(a.or_else, 3));
}

std::string admitting_text(const Admitting& a) {
  return line(fmt::format(
      "{}nder a contract with {} {} would be inside the bound; with half of that, not all would.",
      a.likely ? fmt::format("Probably {}: u", a.clause) : "U", clauses(a),
      a.looked_at == 1
          ? "the one element that diverges"
          : fmt::format("all {} elements that diverge and were looked at", grouped(a.looked_at))));
}

std::string verdict(const Diagnosis& d) {
  if (d.admitting && d.admitting->likely && d.kind == Diagnosis::Kind::named)
    return fmt::format("probably {}, as it {} ({})", clauses(*d.admitting), d.causes[0].says,
                       d.causes[0].name);
  switch (d.kind) {
    case Diagnosis::Kind::no_fault:
      return "no fault: every element is inside its bound";
    case Diagnosis::Kind::named:
      return fmt::format(
          "{}{} ({}){}{}", !d.causes[0].proven ? "probably " : "", d.causes[0].says, d.causes[0].name,
          is_defined_otherwise(d) ? fmt::format("; {} defines it so", d.causes[0].definition) : "",
          d.same.empty() ? "" : fmt::format("; {} more cannot be told from it on this data", d.same.size()));
    case Diagnosis::Kind::ambiguous:
      if (d.causes[0].beside_arithmetic)
        return fmt::format("no single cause; perhaps {} ({}), with which much else would fit",
                           d.causes[0].says, d.causes[0].name);
      if (d.says_little)
        return fmt::format("perhaps {} ({}): one number in place of another, which many causes would give",
                           d.causes[0].says, d.causes[0].name);
      if (d.same.empty())
        return fmt::format("perhaps {} ({}), which would allow these results among many others",
                           d.causes[0].says, d.causes[0].name);
      return fmt::format("one of {} causes that this data cannot tell apart: {} ({}); {}", d.same.size() + 1,
                         d.causes[0].says, d.causes[0].name, names(d.same));
    case Diagnosis::Kind::no_results:
      return "there are no results to look for causes in";
    case Diagnosis::Kind::recovered:
      return fmt::format("{}: {}", d.inverted[0].argument, d.inverted[0].says);
    case Diagnosis::Kind::partly:
      return fmt::format("explains {} of {} diverging elements: {} ({})", d.causes[0].explained,
                         d.tried_diverging, d.causes[0].says, d.causes[0].name);
    case Diagnosis::Kind::undecided:
      if (d.nearer)
        return fmt::format(
            "probably {} ({}{}): results are {} times as near to that as to what is right, though inside the bound",
            d.nearer->says, d.nearer->name, or_as_near(*d.nearer), times(d.nearer->times));
      return "not decided: inside a bound that is " + how_wide(*d.strictest);
    case Diagnosis::Kind::unknown:
      break;
  }
  if (d.unrelated)
    return fmt::format(
        "unrelated to the right results of {}: no nearer to them than in any other order, and no known cause gives these",
        d.op);
  if (const Where* w = rearranged(d))
    return fmt::format("{} is the right result rearranged: {}", w->output, *w->rearranged);
  for (const Where& w : d.where)
    if (w.rule)
      return fmt::format("unknown; {} diverges {}{}", w.output,
                         w.rule->text != "everywhere" ? "where "
                         : w.diverging < w.elements   ? "almost "
                                                      : "",
                         w.rule->text);
  return "unknown";
}

// What a contract would have to say, where nothing else is known.
std::string and_admitting(const Diagnosis& d) {
  if (!d.admitting || d.kind != Diagnosis::Kind::unknown) return {};
  return fmt::format("; a contract with {} would admit all that was looked at", clauses(*d.admitting));
}

// Where time did not suffice.
std::string how_it_ended(const Diagnosis& d) {
  return fmt::format("the search for a cause ended after {:.1f} s, before everything was tried", d.searched);
}

}  // namespace

std::string summary(const Diagnosis& d) {
  const std::string known = verdict(d) + and_admitting(d);
  return d.complete || d.kind == Diagnosis::Kind::no_results ? known : known + "; " + how_it_ended(d);
}

std::string to_text(const Diagnosis& d, Style style) {
  std::string s =
      fmt::format("{}  {}{}\n", heading(d, style), printable(d.case_text.empty() ? d.op : d.case_text),
                  d.impl.empty() ? "" : fmt::format("  {}", printable(d.impl)));
  if (d.kind == Diagnosis::Kind::no_results) {
    for (const std::string& skipped : d.skipped) s += line(skipped);
    return s;
  }
  if (d.stages) s += to_text(*d.stages);
  const bool inside = d.kind == Diagnosis::Kind::no_fault || d.kind == Diagnosis::Kind::undecided;
  if (inside && d.elements == 0)
    s += line("The results have no elements: nothing can be wrong, and nothing is shown to be right.");
  else if (inside) {
    s += line(fmt::format("{} inside the bound of what a right kernel can give{}.", all_of(d.judged, ""),
                          d.judged < d.elements ? fmt::format(" ({} of {} were looked at)", grouped(d.judged),
                                                              grouped(d.elements))
                                                : ""));
    if (d.undecidable > 0)
      s += line(
          fmt::format("Of {} any result would pass: the numbers that go in are too large, infinite or NaN.",
                      counted(d.undecidable, "element")));
    if (d.strictest) s += strictest_text(*d.strictest);
    if (d.winograd)
      s += line(fmt::format(
          "It seems that {} {} ({}): the errors of these results go with those of such a kernel (correlation {:.2f}).",
          d.op, d.winograd->says, d.winograd->name, d.winograd->correlation));
    if (d.nearer)
      s += line(fmt::format(
          "But {} {} ({}{}), it seems: these results are {} times as near to what that gives as to what is right.",
          d.op, d.nearer->says, d.nearer->name, or_as_near(*d.nearer), times(d.nearer->times)));
    if (d.deciding)
      s += line(fmt::format(
               "A call that decides, with a bound {} times as wide as kernels of this kind err{}, for a kernel that is given "
               "with --plugin or by its name:",
               times(d.deciding->wide),
               d.deciding->shows && d.nearer ? fmt::format(", outside of which are results of {}", d.nearer->name)
                                             : std::string())) +
           copyable(fmt::format("assay verify --impl KERNEL --case '{}'", d.deciding->case_text));
  } else {
    if (d.kind == Diagnosis::Kind::named || d.kind == Diagnosis::Kind::ambiguous) {
      if (d.causes[0].beside_arithmetic)
        s += line(
            "No cause alone explains it. Two together fit, one of which is arithmetic in fewer bits; so would others:");
      else if (d.says_little)
        s += line(
            "All that diverges is one number in place of another, which many causes would give. One of them:");
      else if (d.kind == Diagnosis::Kind::ambiguous)
        s += line(fmt::format("Only {} diverge{}, which is too little to {}",
                              counted(d.tried_diverging, "element"), d.tried_diverging == 1 ? "s" : "",
                              d.same.empty()
                                  ? "prove a cause that allows these results among many others:"
                                  : fmt::format("choose among {} causes. One of them:", d.same.size() + 1)));
      s += line(fmt::format("{} {} ({}).", d.op, d.causes[0].says, d.causes[0].name));
      if (is_defined_otherwise(d))
        s += line(fmt::format(
            "That is {}, and not ATen's {}. The results are right by that definition: which of the two was meant?",
            d.causes[0].definition, d.op));
      if (d.winograd)
        s += line(fmt::format(
            "The errors of what was looked at go with those of such a kernel (correlation {:.2f}): elements are at their places, "
            "and what such a kernel gives is less exact than a direct sum.",
            d.winograd->correlation));
      else
        s += line(proof(d.causes[0], d));
      if (d.causes.size() > 1)
        s += line("Explain everything as well, and are another cause: " +
                  names({d.causes.begin() + 1, d.causes.end()}) + ".");
      if (!d.same.empty()) s += line("Nobody can tell apart from it on this data: " + names(d.same) + ".");
      if (d.separating)
        s += line(d.same.size() > kMostSeparated
                      ? fmt::format("A case that tells it from the first {} of them:", kMostSeparated)
                      : "A case that tells them apart:") +
             copyable(*d.separating);
      else if (!d.same.empty())
        s += line(d.advice.empty() ? "None of the cases that were tried tells all of them apart." : d.advice);
      if (!d.weaker.empty())
        s += line("Would allow these results, too, and many others: " + names(d.weaker) + ".");
    }
    if (d.admitting) s += admitting_text(*d.admitting);
    if (d.unrelated)
      s += line(
          "These results have nothing to do with the right ones: they are no nearer to them than in any other order, and no known cause "
          "gives them. They may be of another call, of other inputs or of inputs in an order that nobody thought of, or numbers that "
          "nobody computed.");
    for (const Inverted& i : d.inverted) s += inverted_text(i);
    if (d.kind == Diagnosis::Kind::partly)
      for (const Named& c : d.causes)
        s += line(fmt::format("In part: {} {} ({}). {}", d.op, c.says, c.name, proof(c, d)));
    if (d.tested > 0 && (d.kind == Diagnosis::Kind::unknown || d.kind == Diagnosis::Kind::partly))
      s += line(fmt::format("None of {} known causes{} explains it.", d.tested,
                            d.pairs > 0 ? fmt::format(", nor of {} pairs of them,", grouped(d.pairs)) : ""));
    if (!d.complete) {
      std::string ended = how_it_ended(d);
      ended[0] = 'T';
      s += line(ended + ".");
    }
    s += "\n";
    for (const Where& w : d.where) s += where_text(w, d.where.size() > 1);
    s += line(fmt::format("Farthest: {}.", d.worst));
    if (d.judged < d.elements)
      s += line(fmt::format("{} of {} elements were judged.", grouped(d.judged), grouped(d.elements)));
  }
  if (!d.blind.empty())
    s += line(fmt::format("This data cannot show a fault of {}: any that is known would have given the same.",
                          fmt::join(d.blind, ", ")));
  if (!d.untestable.empty()) {
    s += style.faint(line(fmt::format("Could not have shown on this data: {} of {} known causes ({}).",
                                      d.untestable.size(), d.tested, first_of(d.untestable, kMostListed))));
    if (d.showing)
      s += style.faint(line(fmt::format("A case that shows {} of them:", d.shown))) + copyable(*d.showing);
  }
  for (const std::string& skipped : d.skipped) s += line(skipped);
  s += style.faint(line("Judged under: " + d.contract));
  return s;
}

std::string to_svg(const std::vector<Diagnosis>& all) {
  std::vector<diff::Drawn> drawn;
  for (const Diagnosis& d : all)
    for (const Where& w : d.where)
      if (w.large)
        drawn.push_back({fmt::format("{} of {}: elements that diverge. {}", w.output,
                                     d.case_text.empty() ? d.op : d.case_text, summary(d)),
                         *w.large});
  return diff::to_svg(drawn);
}

}  // namespace assay::diagnose
