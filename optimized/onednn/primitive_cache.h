// Keeps oneDNN primitives, so that a call with a known shape neither describes nor compiles anything again.
//
// The key holds everything that shapes a primitive, attributes with their values and the number of OpenMP
// threads included. A builder sees nothing but the key: what is not in the key cannot shape the primitive.
//
// oneDNN has a cache of its own beside this one. It stores primitives but not their descriptors, which cost
// 1.5 to 15 us a call, counts nothing and cannot be asked what it holds.
#pragma once

#include <array>
#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay::onednn {

// A plain strided tensor. Dimensions and strides (in elements) beyond `rank` are 0.
struct Descriptor {
  dnnl::memory::data_type dtype = dnnl::memory::data_type::undef;
  int rank = 0;
  std::array<std::int64_t, DNNL_MAX_NDIMS> sizes{};
  std::array<std::int64_t, DNNL_MAX_NDIMS> strides{};

  // Throws dnnl::error if oneDNN refuses the description.
  dnnl::memory::desc make() const;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

// A number that equals another when their bits do: 0 and -0 shape different primitives, and NaN finds itself
// again.
struct Exactly {
  float value = 0;
  friend bool operator==(Exactly a, Exactly b);
};

struct Scale {
  int argument = 0;  // DNNL_ARG_SRC_1, ...; 0: the output
  int mask = 0;      // which dimensions have a scale of their own
  std::vector<Exactly> values;
  friend bool operator==(const Scale&, const Scale&) = default;
};

struct ZeroPoint {
  int argument = 0;
  std::int32_t value = 0;  // for every element
  friend bool operator==(const ZeroPoint&, const ZeroPoint&) = default;
};

struct PostOp {
  dnnl::primitive::kind kind = dnnl::primitive::kind::undef;  // sum or eltwise
  dnnl::algorithm algorithm = dnnl::algorithm::undef;         // of an eltwise
  Exactly scale{1};
  Exactly alpha, beta;
  friend bool operator==(const PostOp&, const PostOp&) = default;
};

struct Attributes {
  std::vector<Scale> scales;
  std::vector<ZeroPoint> zero_points;
  std::vector<PostOp> post_ops;
  // `user`: the caller brings the memory, without which threads could not share a primitive.
  dnnl::scratchpad_mode scratchpad = dnnl::scratchpad_mode::user;

  dnnl::primitive_attr make() const;
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

int openmp_threads();

struct PrimitiveKey {
  dnnl::primitive::kind kind = dnnl::primitive::kind::undef;
  dnnl::prop_kind propagation = dnnl::prop_kind::undef;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  int axis = 0;
  Exactly alpha, beta;                // parameters of an eltwise
  std::vector<std::int64_t> numbers;  // of a window: strides, dilations, paddings, in the builder's order
  std::vector<Descriptor> memories;   // in an order that the builder and the caller agree on
  Attributes attributes;
  int threads = openmp_threads();
  // The ISA is not here: oneDNN reads its cap once, so it is constant in a process.

  friend bool operator==(const PrimitiveKey&, const PrimitiveKey&) = default;
};

std::size_t hash(const PrimitiveKey& key);

// A primitive ready to run. Immutable, and shared by threads.
struct Primitive {
  dnnl::primitive primitive;
  std::vector<dnnl::memory::desc> memories;  // as in the key
  dnnl::memory::desc scratchpad;
  std::size_t scratchpad_bytes = 0;
  std::string information;  // oneDNN's impl_info_str: which of its implementations this is
};

// The most recently used primitives. Thread-safe; a primitive that is evicted while it runs lives until it is
// done.
class PrimitiveCache {
 public:
  // Describes the primitive of a key. Throws dnnl::error if oneDNN has none.
  using Build = dnnl::primitive_desc_base (*)(const PrimitiveKey&, const dnnl::engine&);
  using Hash = std::size_t (*)(const PrimitiveKey&);

  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;  // refusals included
    std::uint64_t evictions = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  // `hash` is an argument so that a test can make every key collide.
  PrimitiveCache(dnnl::engine engine, std::size_t capacity, Hash hash = &onednn::hash);

  // The primitive of the key, built if it is not here. What oneDNN refuses is not kept.
  std::shared_ptr<const Primitive> get(const PrimitiveKey& key, Build build);

  // Evicts the least recently used until no more than `capacity` are left. 0 keeps nothing.
  void set_capacity(std::size_t capacity);
  std::size_t size() const;
  Counts counts() const;

 private:
  struct Entry {
    PrimitiveKey key;
    std::shared_ptr<const Primitive> primitive;
  };
  struct KeyHash {
    Hash hash;
    std::size_t operator()(const PrimitiveKey* key) const { return hash(*key); }
  };
  struct KeyEqual {
    bool operator()(const PrimitiveKey* a, const PrimitiveKey* b) const { return *a == *b; }
  };
  void evict();  // with mutex_ held

  dnnl::engine engine_;
  mutable std::mutex mutex_;
  std::size_t capacity_;
  std::list<Entry> entries_;  // the most recently used first; index_ points at the keys in it
  std::unordered_map<const PrimitiveKey*, std::list<Entry>::iterator, KeyHash, KeyEqual> index_;
  Counts counts_;
};

}  // namespace assay::onednn
