#include "placement.h"

#include <fmt/format.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

// libnuma prints what is wrong with a list of processors, unless its user has a function of this name that it can see. We say it
// ourselves.
extern "C" [[gnu::visibility("default")]] void numa_warn(int /*number*/, char* /*format*/, ...) {}

namespace assay {
namespace {

struct FreeMask {
  void operator()(bitmask* m) const { numa_bitmask_free(m); }
};
using Mask = std::unique_ptr<bitmask, FreeMask>;

void check_list(const std::string& flag, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789,-") != std::string::npos || text.front() == ',' ||
      text.front() == '-' || text.back() == ',' || text.back() == '-')
    throw std::invalid_argument(fmt::format("{} is \"{}\": write numbers and ranges, 2-3,5", flag, text));
}

std::vector<int> members(const bitmask& m) {
  std::vector<int> all;
  for (unsigned i = 0; i < m.size; ++i)
    if (numa_bitmask_isbitset(&m, i) != 0) all.push_back(static_cast<int>(i));
  return all;
}

std::vector<int> allowed_cpus() {
  const Mask mask(numa_allocate_cpumask());
  if (numa_sched_getaffinity(0, mask.get()) < 0) return {};
  return members(*mask);
}

std::vector<int> listed_cpus(const std::string& text) {
  check_list("--cpus", text);
  // All that the system may have, not only those that this process may use: to say which of them it may not.
  bitmask* parsed = numa_parse_cpustring_all(text.c_str());
  if (parsed == nullptr)
    throw std::invalid_argument(fmt::format("--cpus is \"{}\": this machine has no such processors", text));
  const Mask mask(parsed);
  std::vector<int> all = members(*mask);
  const std::vector<int> allowed = allowed_cpus();
  for (const int cpu : all)
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
      throw std::invalid_argument(
          fmt::format("--cpus is \"{}\": processor {} is not one that this process may use ({})", text, cpu,
                      fmt::join(allowed, ",")));
  return all;
}

int node_number(const std::string& text) {
  int node = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc{} || end != text.data() + text.size() || node < 0 || node > numa_max_node())
    throw std::invalid_argument(
        fmt::format("--membind is \"{}\": nodes of this machine are 0 to {}", text, numa_max_node()));
  return node;
}

// Whether memory can be bound here at all: containers often forbid it. What is asked for is what there is.
bool may_bind() {
  if (numa_available() < 0) return false;
  const Mask nodes(numa_allocate_nodemask());
  int mode = 0;
  return get_mempolicy(&mode, nodes->maskp, nodes->size + 1, nullptr, 0) == 0 &&
         set_mempolicy(mode, nodes->maskp, nodes->size + 1) == 0;
}

// The same of processors.
bool may_pin() {
  const Mask cpus(numa_allocate_cpumask());
  return numa_sched_getaffinity(0, cpus.get()) >= 0 && numa_sched_setaffinity(0, cpus.get()) >= 0;
}

}  // namespace

Placement choose_placement(const std::string& cpus, const std::string& node, int threads) {
  Placement p;
  const bool numa = may_bind();
  std::vector<int> chosen = cpus.empty() ? allowed_cpus() : listed_cpus(cpus);
  if (chosen.empty()) {
    p.notes.emplace_back("the system does not say which processors may be used: threads are not pinned");
  } else if (!may_pin()) {
    if (!cpus.empty())
      throw std::invalid_argument(
          fmt::format("--cpus is \"{}\": this system does not let a process choose its processors", cpus));
    p.notes.emplace_back(
        "this system does not let a process choose its processors (seccomp): threads are not pinned");
    chosen.clear();
  } else if (static_cast<int>(chosen.size()) < threads) {
    p.notes.push_back(fmt::format("{} threads on {} processor{}: they share", threads, chosen.size(),
                                  chosen.size() == 1 ? "" : "s"));
  } else if (cpus.empty()) {
    chosen.erase(chosen.begin(), chosen.end() - threads);
  }
  p.cpus = fmt::format("{}", fmt::join(chosen, ","));
  if (!node.empty()) {
    if (!numa)
      throw std::invalid_argument(fmt::format("--membind is \"{}\": this system binds no memory", node));
    p.node = fmt::format("{}", node_number(node));
  } else if (numa && !chosen.empty()) {
    const int own = numa_node_of_cpu(chosen.front());
    if (own >= 0) p.node = fmt::format("{}", own);
  }
  if (!numa)
    p.notes.emplace_back("this system does not let a process bind its memory (seccomp, or no NUMA support)");
  return p;
}

std::string numactl_line(const Placement& p) {
  std::string line;
  if (!p.cpus.empty()) line += fmt::format(" --physcpubind={}", p.cpus);
  if (!p.node.empty()) line += fmt::format(" --membind={}", p.node);
  return line.empty() ? line : "numactl" + line;
}

std::vector<std::string> numactl_lines(const Placements& placements) {
  std::vector<std::string> lines;
  for (const auto& [threads, p] : placements) {
    const std::string line = numactl_line(p);
    lines.push_back(placements.size() == 1 ? line
                                           : fmt::format("{} thread{}: {}", threads, threads == 1 ? "" : "s",
                                                         line.empty() ? "not pinned" : line));
  }
  return lines;
}

Pinned::Pinned(const std::string& cpus) {
  if (cpus.empty()) return;
  const Mask mask(numa_parse_cpustring_all(cpus.c_str()));
  before_ = numa_allocate_cpumask();
  if (!mask || numa_sched_getaffinity(0, before_) < 0 || numa_sched_setaffinity(0, mask.get()) < 0) {
    numa_bitmask_free(before_);
    before_ = nullptr;
  }
}

Pinned::~Pinned() {
  if (before_ == nullptr) return;
  numa_sched_setaffinity(0, before_);
  numa_bitmask_free(before_);
}

void place_this_process(const std::string& cpus, const std::string& node) {
  if (!cpus.empty()) {
    const Mask mask(numa_parse_cpustring_all(cpus.c_str()));
    if (!mask || numa_sched_setaffinity(0, mask.get()) < 0)
      throw std::runtime_error(fmt::format("cannot pin to processors {}: {}", cpus, std::strerror(errno)));
  }
  if (!node.empty() && numa_available() >= 0) {
    const Mask mask(numa_parse_nodestring_all(node.c_str()));
    if (!mask) throw std::runtime_error(fmt::format("there is no memory node {}", node));
    numa_set_membind(mask.get());
  }
}

}  // namespace assay
