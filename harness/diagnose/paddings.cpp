// Padding that is another one before an image than after it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "suspects.h"
#include "vocabulary/check.h"
#include "vocabulary/domain.h"

namespace assay::diagnose {
namespace {

using Numbers = std::vector<std::int64_t>;

const CallValue* find(const Call& call, std::string_view name) {
  const int at = call.op->schema.find(name);
  return at < 0 ? nullptr : &call.arguments[static_cast<std::size_t>(at)];
}

// A number for each of n dimensions, where one may stand for all, and none for `otherwise`.
Numbers numbers(const Call& call, std::string_view name, std::size_t n, const Numbers& otherwise) {
  const CallValue* value = find(call, name);
  const auto* list = value == nullptr ? nullptr : std::get_if<Numbers>(value);
  if (list == nullptr || list->empty()) return otherwise;
  return list->size() == 1 ? Numbers(n, list->front()) : *list;
}

// What windows of a call move over, in the dimensions of the image alone.
struct Windows {
  int image_argument = -1;
  Numbers image, kernel, stride, dilation, padding, results;

  // Elements from the first window's first to the last one's last.
  std::int64_t reach(std::size_t d) const {
    return (results[d] - 1) * stride[d] + (kernel[d] - 1) * dilation[d] + 1;
  }
};

std::optional<Windows> windows_of(const Call& call, std::size_t padding) {
  Windows w;
  if (const auto* transposed = find(call, "transposed"))
    if (const auto* yes = std::get_if<bool>(transposed); yes != nullptr && *yes) return std::nullopt;
  w.image_argument = std::max(call.op->schema.find("input"), call.op->schema.find("self"));
  if (w.image_argument < 0) return std::nullopt;
  const auto tensor = [](const CallValue* v) { return v == nullptr ? nullptr : std::get_if<TensorData>(v); };
  const TensorData* const image = tensor(&call.arguments[static_cast<std::size_t>(w.image_argument)]);
  const TensorData* const weight = tensor(find(call, "weight"));
  const TensorData* const gradient = tensor(find(call, "grad_output"));
  if (image == nullptr || call.outputs.empty()) return std::nullopt;
  const bool has_weight = weight != nullptr && weight->shape.size() > 2;
  const std::size_t n = has_weight ? weight->shape.size() - 2 : 2;
  const Shape& results = gradient != nullptr ? gradient->shape : call.outputs[0].shape;
  if (image->shape.size() < n || results.size() != image->shape.size()) return std::nullopt;
  const auto last = [n](const Shape& s) {
    return Numbers(s.end() - static_cast<std::ptrdiff_t>(n), s.end());
  };
  w.image = last(image->shape);
  w.results = last(results);
  w.kernel = has_weight ? last(weight->shape) : numbers(call, "kernel_size", n, {});
  w.stride = numbers(call, "stride", n, w.kernel);
  w.dilation = numbers(call, "dilation", n, Numbers(n, 1));
  w.padding = numbers(call, call.op->schema.argument_storage[padding].name, n, {});
  const auto fits = [n](const Numbers& list) { return list.size() == n; };
  if (!fits(w.kernel) || !fits(w.stride) || !fits(w.dilation) || !fits(w.padding)) return std::nullopt;
  return w;
}

// Zeros around the image, as elements of it. A negative number of them takes elements away.
TensorData padded(const TensorData& t, const Numbers& before, const Numbers& behind) {
  Shape shape = t.shape;
  const std::size_t first = shape.size() - before.size();
  for (std::size_t d = 0; d < before.size(); ++d) shape[first + d] += before[d] + behind[d];
  TensorData larger(t.dtype, shape);
  if (std::ranges::any_of(shape, [](std::int64_t n) { return n < 1; })) return t;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    bool there = true;
    for (std::size_t d = shape.size(); d-- > 0; rest /= t.shape[d], stride *= shape[d]) {
      const std::int64_t index = rest % t.shape[d] + (d >= first ? before[d - first] : 0);
      there = there && index >= 0 && index < shape[d];
      at += index * stride;
    }
    if (!there) continue;
    std::memcpy(larger.element(at), t.element(i), static_cast<std::size_t>(bytes(t.dtype)));
  }
  return larger;
}

// Where a mean counts its padding, it matters how much there is after. Otherwise what is outside is outside.
bool counts_padding(const Call& call) {
  const auto* counts = find(call, "count_include_pad");
  const auto* divisor = find(call, "divisor_override");
  const auto* yes = counts == nullptr ? nullptr : std::get_if<bool>(counts);
  return yes != nullptr && *yes && (divisor == nullptr || std::holds_alternative<None>(*divisor));
}

bool pad(Call& call, std::size_t padding, const Windows& w, const Numbers& before,
         const Numbers& most_behind) {
  if (before == w.padding) return false;
  auto& image = std::get<TensorData>(call.arguments[static_cast<std::size_t>(w.image_argument)]);
  if (!counts_padding(call)) {
    // What lies before the first window is not there for any.
    Numbers taken(before.size()), left(before.size());
    for (std::size_t d = 0; d < before.size(); ++d) {
      taken[d] = std::min<std::int64_t>(before[d], 0);
      left[d] = std::max<std::int64_t>(before[d], 0);
    }
    if (left != before && call.op->schema.find("grad_output") >= 0) return false;  // its results have the image's shape
    if (left != before) image = padded(image, taken, Numbers(before.size(), 0));
    call.arguments[padding] = left;
    return true;
  }
  Numbers behind = most_behind;
  for (std::size_t d = 0; d < behind.size(); ++d)
    behind[d] = std::max<std::int64_t>(0, std::min(behind[d], w.reach(d) - w.image[d] - before[d]));
  image = padded(image, before, behind);
  call.arguments[padding] = Numbers(before.size(), 0);
  return true;
}

bool gives_same_shape(const Call& call, std::size_t padding, const Numbers& both) {
  Call changed = call;
  changed.arguments[padding] = both;
  const Checked checked = check_arguments(*call.op, Arguments(changed).values());
  return checked.ok() && std::ranges::equal(checked.outputs, call.outputs, {}, &Checked::Output::shape,
                                            &Checked::Output::shape);
}

// The windows begin `by` earlier in dimension `only`, or in all. Not where so much on both sides gives results of the same shape:
// nobody needs two numbers to say that. Where there is no padding, windows begin within the image.
bool pad_otherwise_before(Call& call, std::size_t padding, std::int64_t by, std::optional<std::size_t> only) {
  const auto w = windows_of(call, padding);
  if (!w) return false;
  Numbers before = w->padding, behind = w->padding;
  for (std::size_t d = 0; d < before.size(); ++d) {
    if (only && *only != d) continue;
    before[d] += by;
    behind[d] = 2 * behind[d] - before[d];
  }
  const bool within = std::ranges::any_of(before, [](std::int64_t n) { return n < 0; });
  return (within || !gives_same_shape(call, padding, before)) && pad(call, padding, *w, before, behind);
}

// Half of what results of this size take before the image, and of an odd number the greater half after it; or before, if `lower`.
bool pad_as_same(Call& call, std::size_t padding, bool lower) {
  const auto w = windows_of(call, padding);
  if (!w) return false;
  Numbers before, behind;
  for (std::size_t d = 0; d < w->image.size(); ++d) {
    if (w->results[d] != (w->image[d] + w->stride[d] - 1) / w->stride[d]) return false;
    const std::int64_t all = std::max<std::int64_t>(0, w->reach(d) - w->image[d]);
    before.push_back(lower ? all - all / 2 : all / 2);
    behind.push_back(all - before.back());
  }
  return pad(call, padding, *w, before, behind);
}

class Paddings {
 public:
  Paddings(std::string_view name, std::size_t argument, std::vector<Variant>& all)
      : name_(name), at_(argument), all_(all) {}

  void add() {
    for (const bool lower : {false, true})
      plant(
          lower ? "as_same_lower" : "as_same",
          fmt::format(
              "pads as {} does, whatever {} is: by what results of this size take, half of it before the image and "
              "half after, of an odd number the greater half {}",
              lower ? "ONNX's SAME_LOWER" : "TensorFlow's SAME", name_, lower ? "before" : "after"),
          [i = at_, lower](Call& call) { return pad_as_same(call, i, lower); });
    using Only = std::optional<std::size_t>;
    for (const Only& d : {Only(), Only(0), Only(1), Only(2)})
      for (const std::int64_t by : {-1, 1})
        plant(
            fmt::format("one_{}_before{}", by < 0 ? "less" : "more",
                        d ? fmt::format("_dimension_{}", *d) : std::string()),
            fmt::format(
                "pads asymmetrically: one {} before{} the image than {} says, and after it what results of this "
                "size take",
                by < 0 ? "less" : "more", d ? fmt::format(" dimension {} of", *d) : std::string(), name_),
            [i = at_, by, d](Call& call) { return pad_otherwise_before(call, i, by, d); });
  }

 private:
  void plant(std::string_view what, std::string says, std::function<bool(Call&)> change) {
    all_.push_back({.name = fmt::format("{}.{}", name_, what),
                    .says = std::move(says),
                    .arguments = std::move(change),
                    .keeps_shapes = true});
  }

  std::string_view name_;
  std::size_t at_;
  std::vector<Variant>& all_;
};

}  // namespace

void add_paddings(const Operator& op, std::vector<Variant>& all) {
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const std::string_view name = op.schema.argument_storage[i].name;
    if (name == "padding" && domain(op, name).is_spatial() && op.schema.find("stride") >= 0)
      Paddings(name, i, all).add();
  }
}

}  // namespace assay::diagnose
