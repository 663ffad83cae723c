#include "noticed.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace assay {
namespace {

constexpr std::string_view kLeftUnwritten = "left ";  // so begins what run/check.h says of it

std::vector<double> numbers(const std::vector<std::byte>& packed, Dtype dtype) {
  const auto size = static_cast<std::size_t>(bytes(dtype));
  std::vector<double> all;
  all.reserve(packed.size() / size);
  for (std::size_t at = 0; at < packed.size(); at += size) all.push_back(load(packed.data() + at, dtype));
  return all;
}

}  // namespace

Expected expected(const Call& call) {
  Expectation expectation(call);
  Expected e;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    std::vector<double> values = expectation.values(static_cast<int>(k));
    if (expectation.integers(static_cast<int>(k)) == nullptr)
      for (double& x : values) x = round_to(x, format(call.outputs[k].dtype));
    e.outputs.push_back(std::move(values));
  }
  return e;
}

std::array<bool, kRivals> noticed(const Finding& f, const Call& call, const Expected& e) {
  std::array<bool, kRivals> by{};
  const Verdict v = f.judgement.verdict;
  if (f.outputs.empty()) {
    by.fill(v != Verdict::pass && (v != Verdict::memory || f.judgement.detail.starts_with(kLeftUnwritten)));
    return by;
  }
  for (std::size_t k = 0; k < f.outputs.size(); ++k) {
    const std::vector<double> actual = numbers(f.outputs[k], call.outputs[k].dtype);
    for (std::size_t r = 0; r < kRivals; ++r)
      by[r] = by[r] || !accepts(static_cast<Rival>(r), call.outputs[k].dtype, e.outputs[k], actual);
  }
  return by;
}

void merge(std::array<bool, kRivals>& into, const std::array<bool, kRivals>& more) {
  for (std::size_t r = 0; r < kRivals; ++r) into[r] = into[r] || more[r];
}

bool is_found(const Judgement& j) {
  return is_fault(j.verdict) || (j.verdict == Verdict::refused && j.undeclared_refusal);
}

void expect_run(const std::vector<Examined>& examined) {
  for (const Examined& e : examined)
    for (const Finding& f : e.findings)
      if (f.judgement.verdict == Verdict::not_run && f.applicable && !f.stopped)
        throw std::runtime_error(fmt::format("{} of {} could not be run: {}", f.kernel->name,
                                             f.kernel->op->schema.name, f.judgement.detail));
}

}  // namespace assay
