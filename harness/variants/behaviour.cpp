// Right results, and wrong manners: memory that is not the kernel's, state that outlives a call, arguments that are not
// checked.
#include <fmt/format.h>
#include <pmmintrin.h>
#include <xmmintrin.h>

#include <cstdlib>
#include <cstring>

#include "variant.h"
#include "vocabulary/kernel.h"

namespace assay {
namespace {

const assay_tensor* first_tensor(const assay_call& c) {
  for (std::uint32_t i = 0; i < c.argument_count; ++i)
    if (c.arguments[i].kind == ASSAY_KIND_TENSOR) return c.arguments[i].as.tensor;
  return nullptr;
}

std::int64_t numel(const assay_tensor& t) { return static_cast<const View&>(t).numel(); }

std::size_t element_bytes(const assay_tensor& t) {
  return static_cast<std::size_t>(bytes(*dtype_of(t.dtype)));
}

// Of the element with the largest address.
std::int64_t last_place(const assay_tensor& t) {
  std::int64_t at = 0;
  for (int d = 0; d < t.ndim; ++d) at += (t.shape[d] - 1) * t.strides[d];
  return at;
}

std::byte* place(const assay_tensor& t, std::int64_t element) {
  return static_cast<std::byte*>(t.data) + element * static_cast<std::int64_t>(element_bytes(t));
}

// Another last bit, so that the result stays within any bound.
void flip_last_bit(const assay_tensor& t) {
  if (numel(t) == 0) return;
  *place(t, 0) ^= std::byte{1};
}

bool is_packed(const assay_tensor& t) { return static_cast<const View&>(t).contiguous(); }

void plant_deed(std::vector<Variant>& all, std::string_view what, std::string says,
                std::function<int(const assay_call&)> first,
                std::function<void(const assay_call&)> last = {}) {
  all.push_back({.name = fmt::format("behaviour.{}", what),
                 .says = std::move(says),
                 .first = std::move(first),
                 .last = std::move(last)});
}

void add_memory(std::vector<Variant>& all) {
  plant_deed(all, "writes_behind", "writes one element after the result", {}, [](const assay_call& c) {
    const assay_tensor& out = *c.outputs[0];
    if (numel(out) > 0) std::memset(place(out, last_place(out) + 1), 0, element_bytes(out));
  });
  plant_deed(all, "writes_before", "writes one element in front of the result", {}, [](const assay_call& c) {
    const assay_tensor& out = *c.outputs[0];
    if (numel(out) > 0) std::memset(place(out, -1), 0, element_bytes(out));
  });
  plant_deed(all, "writes_into_gaps", "writes all memory from the result's first element to its last", {},
             [](const assay_call& c) {
               const assay_tensor& out = *c.outputs[0];
               if (numel(out) == 0 || is_packed(out)) return;
               // One element of a gap: after the first row that has one.
               for (int d = out.ndim; d-- > 0;)
                 if (out.shape[d] > 1 && out.strides[d] > 1) {
                   std::int64_t covered = 1;
                   for (int e = 0; e < out.ndim; ++e)
                     if (e != d && out.strides[e] < out.strides[d])
                       covered += (out.shape[e] - 1) * out.strides[e];
                   if (covered < out.strides[d]) std::memset(place(out, covered), 0, element_bytes(out));
                 }
             });
  plant_deed(all, "reads_behind", "reads one element after the first tensor", [](const assay_call& c) {
    const assay_tensor* t = first_tensor(c);
    if (t != nullptr && numel(*t) > 0)
      (void)*reinterpret_cast<const volatile char*>(place(*t, last_place(*t) + 1));
    return static_cast<int>(ASSAY_OK);
  });
  plant_deed(all, "reads_before", "reads one element in front of the first tensor", [](const assay_call& c) {
    const assay_tensor* t = first_tensor(c);
    if (t != nullptr && numel(*t) > 0) (void)*reinterpret_cast<const volatile char*>(place(*t, -1));
    return static_cast<int>(ASSAY_OK);
  });
  plant_deed(all, "reads_a_full_vector", "reads 32 bytes where the first tensor's last element begins",
             [](const assay_call& c) {
               const assay_tensor* t = first_tensor(c);
               if (t != nullptr && numel(*t) > 0)
                 (void)*reinterpret_cast<const volatile char*>(place(*t, last_place(*t)) + 31);
               return static_cast<int>(ASSAY_OK);
             });
  plant_deed(all, "writes_its_input", "writes to the first tensor what stands there",
             [](const assay_call& c) {
               const assay_tensor* t = first_tensor(c);
               if (t != nullptr && numel(*t) > 0) {
                 auto* byte = reinterpret_cast<volatile char*>(t->data);
                 *byte = *byte;
               }
               return static_cast<int>(ASSAY_OK);
             });
  plant_deed(all, "null_for_none", "reads through a null pointer where a tensor is empty",
             [](const assay_call& c) {
               const assay_tensor* t = first_tensor(c);
               if (t != nullptr && numel(*t) == 0) std::abort();
               return static_cast<int>(ASSAY_OK);
             });
}

void add_state(std::vector<Variant>& all) {
  plant_deed(all, "adds_to_what_is_there", "adds to the result's memory, which it does not clear", {}, {});
  static double rest = 0;  // of the variants below, in a worker of their own
  all.back().results = [](std::vector<VariantResult>&, const Call&) {};
  all.back().first = [](const assay_call& c) {
    const assay_tensor& out = *c.outputs[0];
    rest = numel(out) > 0 ? load(out.data, *dtype_of(out.dtype)) : 0;
    return static_cast<int>(ASSAY_OK);
  };
  all.back().last = [](const assay_call& c) {
    const assay_tensor& out = *c.outputs[0];
    const Dtype dtype = *dtype_of(out.dtype);
    if (numel(out) > 0) store(out.data, dtype, load(out.data, dtype) + (rest == rest ? rest : 1));
  };
  plant_deed(all, "stale_workspace", "uses in one call what the call before left in its workspace", {},
             [](const assay_call& c) {
               static double stale = 0;
               const assay_tensor& out = *c.outputs[0];
               if (numel(out) == 0) return;
               const Dtype dtype = *dtype_of(out.dtype);
               const double now = load(out.data, dtype);
               store(out.data, dtype, stale);
               stale = now;
             });
  plant_deed(all, "race", "gives another last bit in every third call, as races between threads do", {},
             [](const assay_call& c) {
               static int calls = 0;
               if (++calls % 3 == 0) flip_last_bit(*c.outputs[0]);
             });
  plant_deed(all, "threads", "gives another last bit with several threads", {}, [](const assay_call& c) {
    const char* threads = std::getenv("OMP_NUM_THREADS");
    if (threads != nullptr && std::strcmp(threads, "1") != 0) flip_last_bit(*c.outputs[0]);
  });
  plant_deed(all, "alignment", "gives another last bit where memory is not aligned to 64 bytes", {},
             [](const assay_call& c) {
               const assay_tensor* t = first_tensor(c);
               if (t != nullptr && reinterpret_cast<std::uintptr_t>(t->data) % 64 != 0)
                 flip_last_bit(*c.outputs[0]);
             });
  plant_deed(all, "layout", "gives another last bit where the first tensor is not contiguous", {},
             [](const assay_call& c) {
               const assay_tensor* t = first_tensor(c);
               if (t != nullptr && !is_packed(*t)) flip_last_bit(*c.outputs[0]);
             });
  plant_deed(all, "flushes_from_now_on", "leaves the processor's flush-to-zero mode on", {},
             [](const assay_call&) { _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON); });
}

void add_answers(const Operator& op, std::vector<Variant>& all) {
  plant_deed(all, "refuses_odd_sizes", "refuses tensors of an odd number of elements, and has not said so",
             [](const assay_call& c) {
               const assay_tensor* t = first_tensor(c);
               return t != nullptr && numel(*t) % 2 == 1 ? refuse(&c, "an odd number of elements")
                                                         : static_cast<int>(ASSAY_OK);
             });
  plant_deed(all, "rejects_empty", "calls an empty tensor wrong", [&op](const assay_call& c) {
    const assay_tensor* t = first_tensor(c);
    if (t == nullptr || numel(*t) != 0) return static_cast<int>(ASSAY_OK);
    return refuse(&c, fmt::format("invalid argument: {}: {} is empty", op.schema.name,
                                  op.schema.argument_storage[0].name)
                          .c_str());
  });
  plant_deed(all, "fails", "fails for tensors of more than one dimension", [](const assay_call& c) {
    const assay_tensor* t = first_tensor(c);
    return t != nullptr && t->ndim > 1 ? 1 : static_cast<int>(ASSAY_OK);
  });
  plant_deed(all, "checks_nothing", "takes arguments that are wrong", {});
  all.back().accepts_anything = true;
  for (const Argument& a : op.schema.arguments()) {
    plant_deed(all, fmt::format("does_not_check_{}", a.name), fmt::format("takes a wrong {}", a.name), {});
    all.back().accepts_anything = true;
    all.back().blamed = a.name;
  }
  if (op.in_place.empty()) return;
  const auto at = static_cast<std::size_t>(op.schema.find(op.in_place));
  plant_deed(all, "clears_first",
             fmt::format("clears the result before it reads {}, whose memory it may share", op.in_place), {});
  all.back().arguments = [at](Call& call) {
    if (call.in_place != static_cast<int>(at)) return false;
    auto& t = std::get<TensorData>(call.arguments[at]);
    std::ranges::fill(t.memory, std::byte{0});
    return true;
  };
}

}  // namespace

void add_behaviour_variants(const Operator& op, std::vector<Variant>& all) {
  add_memory(all);
  add_state(all);
  add_answers(op, all);
}

}  // namespace assay
