// Runs fuzz targets without libFuzzer, the same inputs on every machine:
//
//   text_fuzz_runner TARGET [--runs N] [--seed N]     on the target's corpus and mutations of it
//   text_fuzz_runner TARGET FILE...                   on files, for example those that libFuzzer kept
//
// An input that ends the program is printed, as a line of the corpus. Exit code 1 if not both sides of the reader were reached.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>

#include "corpus.h"
#include "reports/file.h"
#include "target.h"
#include "test/effort.h"

namespace assay::fuzz {
namespace {

constexpr unsigned kHangSeconds = 60;
std::string input_at_work;

// On the way out: async-signal-safe enough for a program that ends.
void on_end(int number) {
  std::signal(number, SIG_DFL);
  std::fputs("fuzz: the input was \"", stderr);
  for (const char c : input_at_work) {
    if (c >= ' ' && c < 127 && c != '"' && c != '\\')
      std::fputc(c, stderr);
    else
      std::fprintf(stderr, "\\%03o", static_cast<unsigned char>(c));
  }
  std::fputs("\"\n", stderr);
  std::raise(number);
}

bool run(const Target& target, std::string input) {
  input_at_work = std::move(input);
  ::alarm(kHangSeconds);
  const bool taken = target.run(input_at_work);
  ::alarm(0);
  return taken;
}

class Mutations {
 public:
  Mutations(std::vector<std::string> seeds, std::vector<std::string> corpus, std::uint64_t seed)
      : seeds_(std::move(seeds)), corpus_(std::move(corpus)), random_(seed) {}

  std::string next() {
    std::string s = any();
    for (std::size_t n = below(5); n > 0; --n) change(s);
    return s;
  }

 private:
  std::size_t below(std::size_t limit) {
    return limit == 0 ? 0 : static_cast<std::size_t>(random_() % limit);
  }
  // Often a seed: most of the others are turned down.
  const std::string& any() {
    const std::vector<std::string>& from = below(4) == 0 ? corpus_ : seeds_;
    return from[below(from.size())];
  }
  // A piece of a seed, from one sign of punctuation to another: a word, a list, a clause.
  std::string piece() {
    static constexpr std::string_view ends = " ,;:=()[]{}\"@|\n";
    const std::string& s = any();
    const std::size_t begin = below(s.size() + 1);
    std::size_t end = begin;
    for (std::size_t words = 1 + below(3); words > 0 && end < s.size(); --words)
      end = std::min(s.find_first_of(ends, end + 1), s.size());
    return s.substr(begin, end - begin);
  }
  std::string number() {
    static constexpr std::string_view numbers[] = {
        "0",   "-1", "4294967296", "9223372036854775807",  "1e999",     "nan", "99999999999999999999",
        "inf", "-0", "1e-9",       "18446744073709551615", "2147483648"};
    return std::string(numbers[below(std::size(numbers))]);
  }
  void change(std::string& s) {
    const std::size_t at = below(s.size() + 1), length = std::min(below(12), s.size() - at);
    switch (below(7)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(random_());
        break;
      case 1:
        s.erase(at, length);
        break;
      case 2:
        s.insert(at, s.substr(at, length));
        break;
      case 3:
        s.insert(at, piece());
        break;
      case 4:
        s.replace(at, length, piece());
        break;
      case 5:
        change_number(s, at);
        break;
      default:
        if (at < s.size()) s[at] = ",;:=()[]{}\"@| *+<-0"[below(19)];
    }
  }
  void change_number(std::string& s, std::size_t from) {
    const std::size_t begin = s.find_first_of("0123456789", from);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(s.find_first_not_of("0123456789.e", begin), s.size());
    s.replace(begin, end - begin, number());
  }

  std::vector<std::string> seeds_, corpus_;
  std::mt19937_64 random_;
};

int fuzz(const Target& target, std::uint64_t runs, std::uint64_t seed) {
  std::uint64_t taken = 0;
  for (const std::string& s : target.seeds())
    if (!run(target, s) && target.name != kPluginTable.name && target.name != kContract.name)
      broken("a seed is turned down: " + s);
  const std::vector<std::string> inputs = corpus(target);
  for (const std::string& s : inputs) {
    if (input_of(line(s)) != s) broken("another input than its line in the corpus: " + line(s));
    run(target, s);
  }
  Mutations mutations(target.seeds(), inputs, seed);
  for (std::uint64_t i = 0; i < runs; ++i) taken += run(target, mutations.next()) ? 1 : 0;
  fmt::print("{}: {} inputs, {} of them taken, seed {}\n", target.name, runs, taken, seed);
  return taken > 0 && taken < runs ? 0 : 1;
}

int main(const std::vector<std::string>& words) {
  const Target* target = words.empty() ? nullptr : find_target(words[0]);
  if (target == nullptr) {
    fmt::print(stderr, "usage: text_fuzz_runner TARGET [--runs N] [--seed N] [FILE...]\ntargets:");
    for (const Target* t : targets()) fmt::print(stderr, " {}", t->name);
    fmt::print(stderr, "\n");
    return 2;
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM}) std::signal(number, on_end);
  std::uint64_t runs = effort(20'000u, 3'000u), seed = 1;
  bool files = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--runs" && i + 1 < words.size()) {
      runs = std::stoull(words[++i]);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = std::stoull(words[++i]);
    } else {
      fmt::print("{}: {}\n", words[i], run(*target, read_file(words[i])) ? "taken" : "turned down");
      files = true;
    }
  }
  return files ? 0 : fuzz(*target, runs, seed);
}

}  // namespace
}  // namespace assay::fuzz

int main(int argc, char** argv) { return assay::fuzz::main({argv + 1, argv + argc}); }
