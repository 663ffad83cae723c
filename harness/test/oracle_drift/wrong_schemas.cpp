// Operators whose schemas differ from torch's, each in another way, and one that does not.
#include <array>

#include "vocabulary/reference.h"

namespace assay {
namespace {

constexpr std::array kOperators{
    Operator{.schema = parse_schema("relu(Tensor self) -> Tensor")},
    Operator{.schema = parse_schema("prelu(Tensor self, Tensor slope) -> Tensor")},
    Operator{.schema = parse_schema("mm(Tensor self, Tensor mat2) -> (Tensor, Tensor)")},
    Operator{.schema = parse_schema("add.Tensor(Tensor self, Tensor other, Scalar alpha=1) -> Tensor")},
    Operator{.schema = parse_schema("softmax.int(Tensor self, int dim, ScalarType? dtype) -> Tensor")},
    Operator{.schema = parse_schema("mish_mash(Tensor self) -> Tensor")},
    Operator{.schema = parse_schema("assay::swiglu(Tensor self) -> Tensor")},
};

// Only its operator is asked for.
class Declared : public Reference {
 public:
  explicit Declared(const Operator& op) : op_(op), enrolled_(this) {}
  const Operator& op() const override { return op_; }
  std::string_view file() const override { return __FILE__; }
  int line() const override { return __LINE__; }
  std::unique_ptr<Evaluation> evaluate(std::span<const assay_value>,
                                       std::span<const Checked::Output>) const override {
    return nullptr;
  }

 private:
  const Operator& op_;
  EnrolledReference enrolled_;
};

const Declared declared[]{Declared(kOperators[0]), Declared(kOperators[1]), Declared(kOperators[2]),
                          Declared(kOperators[3]), Declared(kOperators[4]), Declared(kOperators[5]),
                          Declared(kOperators[6])};

}  // namespace
}  // namespace assay
