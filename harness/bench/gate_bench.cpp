// How many cases a second the gate takes: a case is drawn, its data made, a kernel of ours run on it twice between guard
// pages in another process (and again for the property that the case asks for), and every element judged.
//
//   gate_bench [options of Google Benchmark]
//
// Everything is pinned to one core, or to two. Cases are drawn as `assay verify` draws them; then they get the sizes of the
// workload, so that the numbers can be compared with those of other testers, benchdnn's for example.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>

#include "../examine/examine.h"
#include "../generate/cases.h"
#include "../model/parallel.h"
#include "../registry/registry.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using Random = std::mt19937_64;

bool any_fault = false;

std::int64_t up_to(Random& random, std::int64_t most) {
  return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
}

// The arguments of a case, as its text has them.
std::string tiny_unary(Random& random) {
  const std::int64_t rows = up_to(random, 31);
  return fmt::format("self={}x{}", rows, up_to(random, 1000 / rows));
}
std::string tiny_add(Random& random) {
  const std::int64_t rows = up_to(random, 31), columns = up_to(random, 1000 / rows);
  return fmt::format("self={}x{},other={}x{}", rows, columns, rows, columns);
}
std::string tiny_prelu(Random& random) {
  const std::int64_t channels = up_to(random, 31);
  return fmt::format("self={}x{},weight={}", up_to(random, 1000 / channels), channels, channels);
}
std::string small_mm(Random& random) {
  const std::int64_t k = up_to(random, 64);
  return fmt::format("self={}x{},mat2={}x{}", up_to(random, 64), k, k, up_to(random, 64));
}
std::string small_convolution(Random& random) {
  const std::int64_t in = up_to(random, 16), out = up_to(random, 16), size = 2 + up_to(random, 12);
  return fmt::format(
      "input=1x{}x{}x{},weight={}x{}x3x3,bias={},stride=[1,1],padding=[1,1],dilation=[1,1],transposed=false,"
      "output_padding=[0,0],groups=1",
      in, size, size, out, in, out);
}
std::string layer_norm(Random&) {
  return "input=64x1024,normalized_shape=[1024],weight=1024,bias=1024,eps=1e-5";
}

struct Workload {
  const char* op;
  std::string (*arguments)(Random&);
};

// As many processors as `lanes`, for this process and all that it starts.
void pin(int lanes) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    throw std::runtime_error("sched_getaffinity failed");
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&chosen) < lanes; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &chosen);
  if (CPU_COUNT(&chosen) < lanes || sched_setaffinity(0, sizeof chosen, &chosen) != 0)
    throw std::runtime_error(fmt::format("there are no {} processors to pin to", lanes));
}

class Affinity {  // restored, for the next benchmark
 public:
  Affinity() { sched_getaffinity(0, sizeof before_, &before_); }
  ~Affinity() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

constexpr int kChunk = 16;  // as in verify
constexpr std::uint64_t kChunksPerLane = 16;

void run(benchmark::State& state, const std::vector<Workload>& workloads) {
  const Affinity before;
  const auto lanes = static_cast<int>(state.range(0));
  try {
    pin(lanes);
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    return;
  }
  const Registry registry(ASSAY_PROGRAM);
  const auto zygotes = make_zygotes();
  std::vector<std::unique_ptr<Examiner>> examiners;
  for (int i = 0; i < lanes; ++i) examiners.push_back(std::make_unique<Examiner>(zygotes, RunOptions{}));
  std::mutex generator;  // RapidCheck's generators run on one thread at a time
  std::atomic<std::int64_t> faults{0};

  const auto chunk_on = [&](Examiner& examiner, std::uint64_t chunk) {
    const Workload& w = workloads[chunk % workloads.size()];
    const Operator& op = *find_operator(w.op);
    const Kernel* kernel = nullptr;
    for (const Kernel* k : registry.kernels_of(op))
      if (kernel == nullptr && !k->peer && k->unavailable.empty()) kernel = k;
    std::vector<Case> drawn, cases;
    const std::uint64_t first = ladder_length(op) + chunk * kChunk;
    {
      const std::scoped_lock lock(generator);
      for (std::uint64_t i = 0; i < kChunk; ++i) drawn.push_back(generate(op, Dtype::f32, 1, first + i));
    }
    for (std::uint64_t i = 0; i < kChunk; ++i) {
      Random random(first + i);
      cases.push_back(parse_case(
          fmt::format("{}:f32:{}:data={}:seed={}", w.op, w.arguments(random), drawn[i].data, drawn[i].seed)));
    }
    for (const Examined& e : examiner.examine(cases, {&kernel, 1}))
      if (is_fault(e.findings[0].judgement.verdict)) ++faults;
  };

  // As in verify, whoever is ready takes the next chunk: nobody waits but at the end.
  std::atomic<std::uint64_t> next{0};
  std::uint64_t end = 0;
  for (const auto _ : state) {
    end += static_cast<std::uint64_t>(lanes) * kChunksPerLane;
    for_each_parallel(static_cast<unsigned>(lanes), static_cast<std::size_t>(lanes), [&](std::size_t lane) {
      for (std::uint64_t c = next++; c < end; c = next++) chunk_on(*examiners[lane], c);
    });
    next = end;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(end) * kChunk);
  state.counters["faults"] = static_cast<double>(faults);
  any_fault = any_fault || faults > 0;
}

void element_wise(benchmark::State& state) {
  run(state,
      {{"relu", tiny_unary}, {"add.Tensor", tiny_add}, {"sigmoid", tiny_unary}, {"prelu", tiny_prelu}});
}
void mm(benchmark::State& state) { run(state, {{"mm", small_mm}}); }
void convolution(benchmark::State& state) { run(state, {{"convolution", small_convolution}}); }
void native_layer_norm(benchmark::State& state) { run(state, {{"native_layer_norm", layer_norm}}); }

BENCHMARK(element_wise)->ArgName("cores")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(mm)->ArgName("cores")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(convolution)->ArgName("cores")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(native_layer_norm)->ArgName("cores")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return assay::any_fault ? 1 : 0;
}
