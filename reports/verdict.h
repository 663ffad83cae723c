// What can be said of a case, and of a row of cases.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

// From harmless to severe: a row's verdict is the most severe of its cases.
enum class Verdict : std::uint8_t {
  pass,
  refused,           // the kernel said, with a reason, that it does not support the call
  vacuous,           // the data could not have shown a fault
  not_run,           // no device, library or ISA here
  suspicious,        // statistical tier only; never fails
  wrongly_accepted,  // arguments the operator does not allow were taken
  wrongly_rejected,  // arguments the operator allows were called wrong
  unstable,          // other bits in another run, placement or layout, against the contract
  diverged,          // a result outside its interval
  memory,            // wrote or read outside its buffers, changed an input, left output unwritten
  timeout,
  crashed,
};
inline constexpr int kVerdicts = 12;
inline constexpr std::array<std::string_view, kVerdicts> kVerdictTokens{
    "pass",     "refused",  "vacuous", "not_run", "suspicious", "wrongly_accepted", "wrongly_rejected",
    "unstable", "diverged", "memory",  "timeout", "crashed"};

constexpr std::string_view token(Verdict v) { return kVerdictTokens[static_cast<std::size_t>(v)]; }
// The verdict of this token. Throws std::invalid_argument for an unknown one.
Verdict verdict_of(std::string_view token);
// What people read: "not run", "memory fault".
std::string words(Verdict v);
// "10 memory faults"
std::string counted(std::uint64_t n, Verdict v);
// The text without these words and a colon in front, which some reasons begin with: for where they stand already.
std::string without_words(Verdict v, std::string_view text);
// Whether a case with this verdict is a fault of the kernel.
constexpr bool is_fault(Verdict v) { return v >= Verdict::wrongly_accepted; }

}  // namespace assay
