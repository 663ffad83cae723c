// Rounds in which the data of a timed call are not those of the call before. Elsewhere calls repeat themselves, as benchmarks do: a
// kernel that keeps a result, or leaves one that is there already, need compute nothing then. Here it gives a wrong one, or takes as
// long as it takes to compute it, and either is noticed.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "../examine/other_call.h"
#include "call_damage.h"
#include "call_limit.h"
#include "changes.h"
#include "group_state.h"
#include "left_at_work.h"
#include "statistics.h"

namespace assay {

namespace {

constexpr double kShareOfChanged = 0.125;
// Changed rounds of each contestant, before it is asked how long they took. A kernel that computes in every second call is right in half
// of them.
constexpr std::size_t kFewest = 2, kEnough = 8;
constexpr double kMostNs = 2e8;  // that more than the fewest may take
// More of them before it is accused: on a machine that others use, a call takes half as long again now and then, and some do in a row.
constexpr std::size_t kToBeSure = 8, kToBeSurer = 32;
constexpr double kMostNsToBeSurer = 5e9;                   // that those after kToBeSure may take
// Of a call that is changed in its rounds. A larger one is changed when they are over, as a whole, the same for every contestant: to make
// it takes as long as a round.
constexpr std::size_t kMostBytesInRounds = std::size_t{64} << 20;
constexpr std::size_t kElements = 64;                      // judged, of each output
constexpr double kLongNs = 2e4;     // a call that takes longer is timed alone, after all of its data changed
constexpr double kNsOfStore = 100;  // of a call, for each element that changes before it
// The stores alone are timed so often; the fastest time counts. Another's work in the midst of one is no time of the stores, and taken
// from that of the calls it would hide what these take.
constexpr int kTimesOfStores = 8, kStoresTimed = 100;
constexpr std::size_t kSome = 64;  // elements that change in turn, before each call
constexpr std::size_t kFew = 4;    // that change before one call
constexpr int kTriesToDiffer = 4;
constexpr double kManyOperations = 1e7;  // and one that cannot be short, whatever it seems to take
constexpr double kMostBatches = 4;       // that a changed one may take as long as

// How much longer than other calls those may take whose data changed: more branches are mispredicted, the element that was just
// written is waited for, caches and threads are not quite as they were.
constexpr double kLonger = 1.5;
// That the machine may have become since the rounds; more is the kernel's doing.
constexpr double kMostSlower = 2;
constexpr double kMoreOfMany = 40;      // nanoseconds, where some elements change before each call
constexpr double kMoreOfOne = 3e3;      // where one call is timed
constexpr double kMoreOfThreads = 2e5;  // which may have gone to sleep
}  // namespace

std::string slower_text(double changed_ns, double usual_ns) {
  const auto shown = [](double ns) {
    return ns < 1e3   ? fmt::format("{:.3g} ns", ns)
           : ns < 1e6 ? fmt::format("{:.3g} µs", ns / 1e3)
                      : fmt::format("{:.3g} ms", ns / 1e6);
  };
  return fmt::format(
      "a call takes {} where its data have changed since the one before, and {} where they have not: what was "
      "timed is not the whole computation of a result",
      shown(changed_ns), shown(usual_ns));
}

std::unique_ptr<ChangedRound> Group::State::round_of(std::optional<std::size_t> most) {
  auto one_round = std::make_unique<ChangedRound>();
  if (most) {
    // Where no result differs, as may be of maxima, nothing would be judged.
    const auto differs = [&] {
      return std::ranges::any_of(one_round->elements, [](const auto& of_output) { return !of_output.empty(); });
    };
    for (int tries = 0; tries < kTriesToDiffer && !differs(); ++tries) {
      std::optional<ChangedCall> made = with_few_changes(call, *most, secret);
      if (!made) return nullptr;
      one_round->call = std::move(made->call);
      one_round->changes = std::move(made->changes);
      one_round->elements = elements_that_differ(call, one_round->call, kElements);
    }
    if (!differs()) return nullptr;
  } else {
    std::optional<Call> made = with_all_changed(call, secret);
    if (!made) return nullptr;
    one_round->call = std::move(*made);
  }
  one_round->judge = std::make_unique<SampledJudge>(one_round->call, secret());
  return one_round;
}

// Whether the reference is computed in no time.
bool Group::State::is_little_work() const {
  const Operations& o = work.operations;
  const auto all = static_cast<double>(o.additions + o.multiplications + o.divisions + o.roots +
                                       o.comparisons + o.functions);
  return all < kManyOperations;
}

bool Group::State::is_large() const { return bytes_of(call) > kMostBytesInRounds; }

bool Group::State::is_short(const Player& p) const {
  return options.cache == Cache::warm && p.ns < kLongNs && is_little_work() && !is_large();
}

void Group::State::change_some(std::vector<Player*>& playing, bool for_certain) {
  if (on_device() || bytes_of(call) > kMostBytesChanged || (is_large() && !for_certain)) return;
  if (!for_certain && std::uniform_real_distribution<>()(secret) >= kShareOfChanged) return;
  std::optional<std::unique_ptr<ChangedRound>> made_some, made_few, made_all;
  const auto made = [this](std::optional<std::unique_ptr<ChangedRound>>& one_round,
                           std::optional<std::size_t> most) {
    if (!one_round) one_round = round_of(most);
    return one_round->get();  // none where nothing can be changed
  };
  std::vector<Player*> order;
  for (Player* p : playing)
    if (!p->bound.empty()) order.push_back(p);
  std::ranges::shuffle(order, secret);
  for (Player* p : order) {
    const bool before_each = is_short(*p);
    if (is_large() && !large_round) large_round = round_of(std::nullopt);
    // Who knows data by some of them does not notice few changes; who compares them all does not gain from that.
    ChangedRound* one_round = is_large()                          ? large_round->get()
                          : before_each                           ? made(made_some, kSome)
                          : is_little_work() && secret() % 2 == 0 ? made(made_few, kFew)
                                                                  : nullptr;
    if (one_round == nullptr && !before_each && !is_large()) one_round = made(made_all, std::nullopt);
    if (one_round == nullptr) continue;
    ++p->changed_rounds;
    const std::size_t set = secret() % sets.size();
    p->bound[set]->message[0] = 0;
    std::string fault;
    try {
      const int status =
          before_each ? change_before_each(*p, set, *one_round) : change_before_one(*p, set, *one_round);
      if (const std::string left = damage(set, one_round->call); !left.empty())
        fault = "it " + left;
      else
        fault = fault_in(*p, set, *one_round, status);
    } catch (const KernelError& error) {
      fault = error.what();
      damage(set, call);  // which goes with it
    }
    if (!fault.empty())
      p->checking = {Checking::Status::wrong, "while it was timed with data that change, " + fault, {}};
    sets[set]->load(call);
  }
}

// What it finds is what it finds in other rounds: its own results, of the data as they were.
void Group::State::as_it_left_it(const Player& p, std::size_t set, const Call& data) {
  sets[set]->load(data);
  for (std::size_t o = 0; o < p.results.size(); ++o) sets[set]->put(o, p.results[o]);
}

double Group::State::counted_ns(const Moment& took) const {
  return options.threads == 1 ? counted(took).cpu : took.wall;
}

int Group::State::change_before_each(Player& p, std::size_t set, const ChangedRound& one_round) {
  as_it_left_it(p, set, call);
  Stores stores(one_round.changes, *sets[set], secret());
  const auto stored =
      static_cast<std::size_t>(std::clamp(p.ns / kNsOfStore, 1.0, static_cast<double>(one_round.changes.size())));
  const auto wanted = static_cast<std::uint64_t>(p.calls_of_round) + secret() % 4;
  const auto run = [&bound = *p.bound[set]] { return bound.run(); };
  const CallLimit limit(p.number,
                        options.timeout > 0 ? options.timeout + 10e-9 * p.ns * p.calls_of_round : 0);
  int status = run();
  std::uint64_t calls = 1;
  const Moment begin = now();
  // How long such calls take, is not known yet.
  for (std::uint64_t until = 2; calls < wanted && counted_ns(since(begin)) < kMostBatches * options.batch_ns;
       until *= 2)
    for (; calls < std::min(until, wanted); ++calls) {
      stores.next(stored);
      status |= run();
    }
  // What is judged differs in few elements from the call before: who looks at some alone sees none of them, mostly.
  stores.all();
  stores.next(kFew);
  status |= run();
  stores.all();
  status |= run();
  const double took = counted_ns(since(begin)) / static_cast<double>(calls + 1);
  double of_stores = took;
  for (int times = 0; times < kTimesOfStores; ++times) {
    const Moment stores_begin = now();
    for (int i = 0; i < kStoresTimed; ++i) stores.next(stored);
    of_stores = std::min(of_stores, counted_ns(since(stores_begin)) / kStoresTimed);
  }
  stores.all();
  p.changed.push_back(took - of_stores);
  p.calls += calls + 2;
  if (p.is_doubted) {  // the machine may be slower now than it was in its rounds
    const Moment same = now();
    for (std::uint64_t n = 0; n <= calls; ++n) status |= run();
    p.unchanged.push_back(counted_ns(since(same)) / static_cast<double>(calls + 1));
    p.calls += calls + 1;
  }
  return status;
}

// Beside a call that meets the same data as the call before, and is timed in the same way: copying data, and a single call, have their
// own effects on caches.
int Group::State::change_before_one(Player& p, std::size_t set, const ChangedRound& one_round) {
  const auto run = [&bound = *p.bound[set]] { return bound.run(); };
  const auto timed_once = [&](const Call& data, const Call& before, std::vector<double>* times) {
    sets[set]->load(before);  // so that both have been read, and lie in caches or do not
    as_it_left_it(p, set, data);
    if (options.cache == Cache::warm)
      touch(*sets[set]);
    else
      make_cold({&sets[set], 1});
    const Moment begin = now();
    const int status = run();
    const Moment took = since(begin);
    if (times != nullptr) times->push_back(counted_ns(took));
    return status;
  };
  const CallLimit limit(p.number, 3 * options.timeout);
  int status = run();
  if (secret() % 2 == 0) status |= run();  // so that who computes in every second call cannot keep in step
  // Where few data change, a kernel that computes what is new alone is right, and has little to compute.
  const bool all = one_round.changes.empty();
  if (all) status |= timed_once(call, one_round.call, &p.unchanged);
  status |= timed_once(one_round.call, call, all ? &p.changed : nullptr);
  p.calls += all ? 3 : 2;
  return status;
}

std::string Group::State::fault_in(const Player& p, std::size_t set, ChangedRound& one_round, int status) const {
  const Bound& bound = *p.bound[set];
  if (status != ASSAY_OK)
    return fmt::format("it returned {}{}{}", status, bound.message[0] != 0 ? ": " : "", bound.message.data());
  if (p.contestant.prepare) return {};  // PyTorch may return its results in memory of its own
  std::vector<std::vector<std::byte>> results;
  for (std::size_t o = 0; o < sets[set]->outputs().size(); ++o) results.push_back(sets[set]->packed(o));
  const Contract contract = parse_contract(p.contestant.contract, call.outputs[0].computed_in);
  return one_round.elements.empty() ? one_round.judge->fault(contract, results, kElements)
                                : one_round.judge->fault_of(contract, results, one_round.elements);
}

std::string Group::State::slower_with_changes(Player& p) {
  if (p.series->cpu.empty()) return {};
  if (const double processors = p.processors.empty() ? 0 : median_interval(p.processors).median;
      processors > 1.1 * options.threads + 0.2)
    return fmt::format("it works on {:.2g} processors, and was told to use {} threads", processors,
                       options.threads);
  const bool few = is_short(p);
  const double more = options.threads > 1 ? kMoreOfThreads : few ? kMoreOfMany : kMoreOfOne;
  const auto usual = [&] {
    if (!few) return median_interval(p.unchanged).median;
    const double in_rounds = median_interval(options.threads == 1 ? p.series->cpu : p.series->wall).median;
    if (p.unchanged.empty()) return in_rounds;
    return std::clamp(median_interval(p.unchanged).median, in_rounds, kMostSlower * in_rounds);
  };
  const auto is_slow = [&] {
    return !p.changed.empty() && std::ranges::min(p.changed) > kLonger * usual() + more;
  };
  std::vector<Player*> alone{&p};
  const Moment begin = now();
  const auto wants_more = [&](std::size_t n, std::size_t tries) {
    return n < kFewest || (tries < kToBeSure && p.changed.size() < kFewest) ||
           (n < kEnough && since(begin).wall < kMostNs) ||
           (is_slow() && (tries < kToBeSure || (tries < kToBeSurer && since(begin).wall < kMostNsToBeSurer)));
  };
  for (std::size_t n = p.changed_rounds, tries = 0;
       wants_more(n, tries) && p.checking.status == Checking::Status::right; ++tries) {
    p.is_doubted = is_slow();
    change_some(alone, true);
    if (p.changed_rounds == n) break;  // nothing can be changed
    n = p.changed_rounds;
  }
  if (p.checking.status != Checking::Status::right) return p.checking.reason;
  if (!is_slow()) return {};
  return slower_text(std::ranges::min(p.changed), usual());
}

std::string Group::State::left_at_work() {
  if (on_device() || options.threads != 1 || others_work) return {};
  if (const std::vector<pid_t> started = processes_started(); !started.empty()) {
    others_work = true;
    return fmt::format("it left a process at work (number {}), whose time nobody can count", started.front());
  }
  const std::size_t threads = threads_at_work();
  if (threads == 0) return {};
  others_work = true;
  return fmt::format("it left {} at work when it returned, which take{} time from everybody",
                     threads == 1 ? "a thread" : fmt::format("{} threads", threads), threads == 1 ? "s" : "");
}

}  // namespace assay
