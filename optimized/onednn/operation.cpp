#include "operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>

namespace assay::onednn {
namespace {

thread_local bool asking_only = false;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// oneDNN asks for scratchpads that start at a multiple of 64 bytes; a page is what it gives itself.
void* scratchpad(std::size_t bytes) {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  constexpr std::size_t page = 4096;
  thread_local std::unique_ptr<void, Free> memory;
  thread_local std::size_t size = 0;
  if (bytes > size) {
    const std::size_t rounded = (bytes + page - 1) / page * page;
    memory.reset(std::aligned_alloc(page, rounded));
    size = memory == nullptr ? 0 : rounded;
    if (memory == nullptr) throw Refused(fmt::format("oneDNN asks for a scratchpad of {} bytes", bytes));
  }
  return memory.get();
}

std::string version() {
  const dnnl::version_t* v = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

dnnl::memory::data_type data_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return dnnl::memory::data_type::f32;
    case Dtype::bf16:
      return dnnl::memory::data_type::bf16;
    case Dtype::f16:
      return dnnl::memory::data_type::f16;
    case Dtype::i32:
      return dnnl::memory::data_type::s32;
    case Dtype::i8:
      return dnnl::memory::data_type::s8;
    case Dtype::u8:
      return dnnl::memory::data_type::u8;
    default:
      throw Refused(fmt::format("{} has no arithmetic in {}", version(), name(dtype)));
  }
}

std::string_view text(dnnl::memory::data_type dtype) {
  switch (dtype) {
    case dnnl::memory::data_type::f32:
      return "f32";
    case dnnl::memory::data_type::bf16:
      return "bf16";
    case dnnl::memory::data_type::f16:
      return "f16";
    case dnnl::memory::data_type::s32:
      return "i32";
    case dnnl::memory::data_type::s8:
      return "i8";
    case dnnl::memory::data_type::u8:
      return "u8";
    default:
      return "another dtype";
  }
}

std::string_view text(dnnl::primitive::kind kind) {
  switch (kind) {
    case dnnl::primitive::kind::eltwise:
      return "eltwise";
    case dnnl::primitive::kind::binary:
      return "binary";
    case dnnl::primitive::kind::prelu:
      return "prelu";
    case dnnl::primitive::kind::softmax_v2:
      return "softmax";
    case dnnl::primitive::kind::matmul:
      return "matmul";
    case dnnl::primitive::kind::convolution:
      return "convolution";
    case dnnl::primitive::kind::deconvolution:
      return "deconvolution";
    case dnnl::primitive::kind::reduction:
      return "reduction";
    case dnnl::primitive::kind::reorder:
      return "reorder";
    case dnnl::primitive::kind::layer_normalization:
      return "layer normalization";
    case dnnl::primitive::kind::batch_normalization:
      return "batch normalization";
    case dnnl::primitive::kind::pooling_v2:
      return "pooling";
    default:
      return "primitive";
  }
}

// Plain words for a primitive that could not be made.
std::string reason(const PrimitiveKey& key, const dnnl::error& error) {
  std::string dtypes;
  for (const Descriptor& memory : key.memories) {
    if (!dtypes.empty()) dtypes += ", ";
    dtypes += text(memory.dtype);
  }
  const std::string what = fmt::format("{} on {} of rank {}", text(key.kind), dtypes,
                                       key.memories.empty() ? 0 : key.memories.front().rank);
  const std::string_view isa = name(dnnl::get_effective_cpu_isa());
  if (error.status == dnnl_unimplemented)
    return fmt::format("{} at {} has no implementation of {} with these strides", version(), isa, what);
  if (error.status == dnnl_invalid_arguments)
    return fmt::format("{} does not allow {} with these sizes and strides: {}", version(), what,
                       error.what());
  return fmt::format("{} at {} failed at {}: {}", version(), isa, what, error.what());
}

}  // namespace

AskingOnly::AskingOnly() { asking_only = true; }
AskingOnly::~AskingOnly() { asking_only = false; }

PrimitiveCache& primitives() {
  static PrimitiveCache cache(engine(), 1024);
  return cache;
}

void refuse_integers(const View& out) {
  if (!is_float(out.type())) throw Refused("oneDNN computes with integers in f32, and saturates");
}

Descriptor describe(const View& tensor) {
  if (tensor.rank() > DNNL_MAX_NDIMS)
    throw Refused(fmt::format("{} has {} dimensions at most", version(), DNNL_MAX_NDIMS));
  Descriptor d;
  d.dtype = data_type(tensor.type());
  d.rank = tensor.rank() == 0 ? 1 : tensor.rank();
  d.sizes[0] = d.strides[0] = 1;
  std::int64_t contiguous = 1;
  for (int i = tensor.rank() - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    d.sizes[at] = tensor.size(i);
    d.strides[at] = tensor.size(i) == 1 ? contiguous : tensor.stride(i);
    contiguous = d.strides[at] * (tensor.size(i) == 0 ? 1 : tensor.size(i));
  }
  return d;
}

Descriptor with_rank(const Descriptor& tensor, int rank) {
  Descriptor wide;
  wide.dtype = tensor.dtype;
  wide.rank = rank;
  const int in_front = rank - tensor.rank;
  for (int d = 0; d < rank; ++d) {
    const auto to = static_cast<std::size_t>(d);
    const auto from = static_cast<std::size_t>(d < in_front ? 0 : d - in_front);
    wide.sizes[to] = d < in_front ? 1 : tensor.sizes[from];
    wide.strides[to] = d < in_front ? tensor.sizes[0] * tensor.strides[0] : tensor.strides[from];
  }
  return wide;
}

Operation::Operation(const Level& level, dnnl::primitive::kind kind) : level_(&level) {
  require(level);
  key.kind = kind;
}

bool Operation::asks_only() { return asking_only; }

void Operation::tensor(int argument, const View& view, const Descriptor& as) {
  key.memories.push_back(as);
  bound_.push_back({argument, view.data});
}

bool Operation::run(PrimitiveCache::Build build) {
  constexpr auto is_f32 = [](const Descriptor& memory) {
    return memory.dtype == dnnl::memory::data_type::f32;
  };
  if (level_->bf16_only && std::ranges::all_of(key.memories, is_f32))
    throw Refused(fmt::format("{} is for bf16: f32 takes the code of onednn.avx512", level_->kernel));
  std::shared_ptr<const Primitive> made;
  try {
    made = primitives().get(key, build);
  } catch (const dnnl::error& error) {
    throw Refused(reason(key, error));
  }
  if (asking_only) return false;
  std::unordered_map<int, dnnl::memory> arguments;
  for (std::size_t i = 0; i < bound_.size(); ++i)
    arguments.emplace(bound_[i].argument, dnnl::memory(made->memories[i], engine(), bound_[i].data));
  if (made->scratchpad_bytes > 0)
    arguments.emplace(DNNL_ARG_SCRATCHPAD,
                      dnnl::memory(made->scratchpad, engine(), scratchpad(made->scratchpad_bytes)));
  thread_local dnnl::stream stream(engine());
  made->primitive.execute(stream, arguments);
  stream.wait();
  say_information(made->information);
  return true;
}

}  // namespace assay::onednn
