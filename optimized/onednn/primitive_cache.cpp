#include "primitive_cache.h"

#include <omp.h>

#include <bit>
#include <utility>

namespace assay::onednn {

bool operator==(Exactly a, Exactly b) {
  return std::bit_cast<std::uint32_t>(a.value) == std::bit_cast<std::uint32_t>(b.value);
}

dnnl::memory::desc Descriptor::make() const {
  return {dnnl::memory::dims(sizes.begin(), sizes.begin() + rank), dtype,
          dnnl::memory::dims(strides.begin(), strides.begin() + rank)};
}

dnnl::primitive_attr Attributes::make() const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(scratchpad);
  for (const Scale& scale : scales) {
    std::vector<float> values;
    for (const Exactly value : scale.values) values.push_back(value.value);
    if (scale.argument == 0)
      attributes.set_output_scales(scale.mask, values);
    else
      attributes.set_scales(scale.argument, scale.mask, values);
  }
  for (const ZeroPoint& zero : zero_points) attributes.set_zero_points(zero.argument, 0, {zero.value});
  if (post_ops.empty()) return attributes;
  dnnl::post_ops operations;
  for (const PostOp& op : post_ops) {
    if (op.kind == dnnl::primitive::kind::sum)
      operations.append_sum(op.scale.value);
    else
      operations.append_eltwise(op.scale.value, op.algorithm, op.alpha.value, op.beta.value);
  }
  attributes.set_post_ops(operations);
  return attributes;
}

int openmp_threads() { return omp_get_max_threads(); }

std::size_t hash(const PrimitiveKey& key) {
  std::uint64_t h = 0xcbf29ce484222325u;
  const auto mix = [&h](auto value) {
    h = (h ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  };
  const auto mix_exactly = [&](Exactly value) { mix(std::bit_cast<std::uint32_t>(value.value)); };
  mix(key.kind);
  mix(key.propagation);
  mix(key.algorithm);
  mix(key.axis);
  mix_exactly(key.alpha);
  mix_exactly(key.beta);
  mix(key.threads);
  for (const std::int64_t number : key.numbers) mix(number);
  for (const Descriptor& memory : key.memories) {
    mix(memory.dtype);
    mix(memory.rank);
    for (int d = 0; d < memory.rank; ++d) {
      mix(memory.sizes[static_cast<std::size_t>(d)]);
      mix(memory.strides[static_cast<std::size_t>(d)]);
    }
  }
  mix(key.attributes.scratchpad);
  for (const ZeroPoint& zero : key.attributes.zero_points) {
    mix(zero.argument);
    mix(zero.value);
  }
  for (const Scale& scale : key.attributes.scales) {
    mix(scale.argument);
    mix(scale.mask);
    for (const Exactly value : scale.values) mix_exactly(value);
  }
  for (const PostOp& op : key.attributes.post_ops) {
    mix(op.kind);
    mix(op.algorithm);
    mix_exactly(op.scale);
    mix_exactly(op.alpha);
    mix_exactly(op.beta);
  }
  return static_cast<std::size_t>(h);
}

PrimitiveCache::PrimitiveCache(dnnl::engine engine, std::size_t capacity, Hash hash)
    : engine_(std::move(engine)), capacity_(capacity), index_(16, KeyHash{hash}) {}

std::shared_ptr<const Primitive> PrimitiveCache::get(const PrimitiveKey& key, Build build) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(&key); found != index_.end()) {
    ++counts_.hits;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->primitive;
  }
  ++counts_.misses;
  const dnnl::primitive_desc_base description = build(key, engine_);
  auto made = std::make_shared<Primitive>();
  made->primitive = dnnl::primitive(description.get());
  for (const Descriptor& memory : key.memories) made->memories.push_back(memory.make());
  made->scratchpad = description.scratchpad_desc();
  made->scratchpad_bytes = made->scratchpad.get_size();
  made->information = description.impl_info_str();
  entries_.push_front({key, made});
  index_.emplace(&entries_.front().key, entries_.begin());
  evict();
  return made;
}

void PrimitiveCache::set_capacity(std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  capacity_ = capacity;
  evict();
}

std::size_t PrimitiveCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

PrimitiveCache::Counts PrimitiveCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void PrimitiveCache::evict() {
  while (entries_.size() > capacity_) {
    index_.erase(&entries_.back().key);
    entries_.pop_back();
    ++counts_.evictions;
  }
}

}  // namespace assay::onednn
