#include "difference.h"

#include <nlohmann/json.hpp>

#include "../diff/diff.h"
#include "../files/tensor_data.h"
#include "../tensors/tensor_file.h"
#include "operands.h"

namespace assay::serve {
namespace {

// One tensor, as if it were in a file.
class GivenTensor : public TensorFile {
 public:
  GivenTensor(const std::string& name, RecordedTensor tensor) : TensorFile(name), tensor_(std::move(tensor)) {
    add("tensor", tensor_.dtype, tensor_.shape, tensor_.data.size());
  }
  RecordedTensor read(const TensorEntry&) const override { return tensor_; }
  std::optional<std::span<const std::byte>> view(const TensorEntry&) const override { return tensor_.data; }

 private:
  RecordedTensor tensor_;
};

}  // namespace

std::string difference_of(const Request& request, const ReadMemory& read) {
  const auto given = [&](std::size_t i, const std::string& name) {
    const auto* place =
        i < request.results.size() ? std::get_if<TensorPlace>(&request.results[i].is) : nullptr;
    if (place == nullptr || request.results.size() != 2)
      throw RequestError(kArgument, "diff compares two tensors, which are its results");
    return GivenTensor(name, recorded(tensor_at(*place, read)));
  };
  const GivenTensor a = given(0, "A"), b = given(1, "B");
  const diff::Diff found = diff::diff(a, b, {}, [](const std::string&) {});
  nlohmann::json j = nlohmann::json::parse(diff::to_json(found));
  j["text"] = diff::to_text(found, Style(false));
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace assay::serve
