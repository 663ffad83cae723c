// Where an input of a recorded call comes from: parse_origin() and parse_part() give nothing, or an origin of which view_of() gives
// nothing, or numbers of the tensor that it is shown; parse_through() gives nothing, or such origins.
#include "../trace/origin.h"

#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {"3:out",
          "0:out0@offset(0)@strides(6,1)",
          "12:@offset(5)@strides(1,6)",
          "1:out@offset(-1)@strides(-6,1)",
          "7:indices@offset(0)@strides()",
          "4:out@offset(9223372036854775807)@strides(9223372036854775807,1)",
          "offset(3)@strides(6,1)",
          "sin(3:out,5:out0)"};
}

bool look_at(const std::optional<Origin>& origin) {
  if (!origin) return false;
  TensorData whole(Dtype::f32, {4, 6});
  for (std::int64_t i = 0; i < whole.numel(); ++i) whole.set(i, static_cast<double>(i));
  for (const Shape& shape : {Shape{4, 6}, Shape{2, 3}, Shape{24}, Shape{}, Shape{0, 5}}) {
    const std::optional<TensorData> view = view_of(whole, *origin, shape);
    if (!view) continue;
    if (view->shape != shape) broken("a view of another shape");
    for (std::int64_t i = 0; i < view->numel(); ++i)
      if (!(view->get(i) >= 0 && view->get(i) < 24)) broken("a number that the tensor does not have");
  }
  return true;
}

bool run(std::string_view input) {
  const std::string text(input);
  const std::optional<Through> through = parse_through(text);
  if (through && through->from.empty()) broken("made from nothing");
  if (through)
    for (const Origin& from : through->from) look_at(from);
  const bool part = look_at(parse_part(text));
  return look_at(parse_origin(text)) || part || through.has_value();
}

}  // namespace

const Target kOrigin{"origin", seeds, run};

}  // namespace assay::fuzz
