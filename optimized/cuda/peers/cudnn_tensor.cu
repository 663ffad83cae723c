#if __has_include(<cudnn.h>)

#include "cudnn_tensor.h"

namespace assay::cuda::peers {
namespace {

using Order = std::vector<std::size_t>;

// Dimensions from the innermost one.
Order by_rows(int rank) {
  Order order;
  for (int d = rank - 1; d >= 0; --d) order.push_back(static_cast<std::size_t>(d));
  return order;
}
Order channels_last(int rank) {
  Order order{1};
  for (int d = rank - 1; d >= 0; --d)
    if (d != 1) order.push_back(static_cast<std::size_t>(d));
  return order;
}

std::vector<std::int64_t> packed_strides(const CudnnShape& shape, const Order& order) {
  std::vector<std::int64_t> strides(shape.sizes.size());
  std::int64_t stride = 1;
  for (const std::size_t d : order) {
    strides[d] = stride;
    stride *= shape.sizes[d];
  }
  return strides;
}

bool has_strides(const CudnnShape& shape, const std::vector<std::int64_t>& strides) {
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (shape.sizes[d] != 1 && shape.strides[d] != strides[d]) return false;
  return true;
}

// Strides of dimensions of size 1.
void give_meaning(CudnnShape& shape) {
  for (const Order& order : {by_rows(shape.rank()), channels_last(shape.rank())}) {
    const std::vector<std::int64_t> packed = packed_strides(shape, order);
    if (has_strides(shape, packed)) {
      shape.strides = packed;
      return;
    }
  }
  for (std::size_t d = shape.sizes.size(); d-- > 0;)
    if (shape.sizes[d] == 1)
      shape.strides[d] = d + 1 == shape.sizes.size() ? 1 : shape.sizes[d + 1] * shape.strides[d + 1];
}

}  // namespace

cudnnDataType_t cudnn_type(Dtype type) {
  switch (type) {
    case Dtype::f64:
      return CUDNN_DATA_DOUBLE;
    case Dtype::f32:
      return CUDNN_DATA_FLOAT;
    case Dtype::f16:
      return CUDNN_DATA_HALF;
    case Dtype::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      throw Refused("cuDNN is asked to compute in f64, f32, f16 and bf16");
  }
}

bool nothing_to_do(const View& out) {
  static_cast<void>(cudnn_type(out.type()));
  return out.numel() == 0;
}

CudnnShape image(const View& v, bool batched) {
  CudnnShape shape{{v.sizes().begin(), v.sizes().end()}, {v.all_strides().begin(), v.all_strides().end()}};
  const auto put_in = [&](std::ptrdiff_t at) {
    shape.sizes.insert(shape.sizes.begin() + at, 1);
    shape.strides.insert(shape.strides.begin() + at, 1);
  };
  if (!batched) put_in(0);
  while (shape.rank() < 4) put_in(2);
  if (shape.rank() > 5) throw Refused("cuDNN has no images of more than three dimensions");
  give_meaning(shape);
  return shape;
}

bool packed(const CudnnShape& image) {
  return has_strides(image, packed_strides(image, by_rows(image.rank())));
}
bool packed_channels_last(const CudnnShape& image) {
  return has_strides(image, packed_strides(image, channels_last(image.rank())));
}

CudnnShape of_space(const cpu::Space& space, std::size_t operand) {
  CudnnShape shape;
  for (int d = space.rank - 1; d >= 0; --d) {
    shape.sizes.push_back(space.size[static_cast<std::size_t>(d)]);
    shape.strides.push_back(space.stride[operand][static_cast<std::size_t>(d)]);
  }
  while (shape.rank() < 4) {
    shape.strides.insert(shape.strides.begin(), shape.rank() == 0 ? 1 : shape.sizes[0] * shape.strides[0]);
    shape.sizes.insert(shape.sizes.begin(), 1);
  }
  return shape;
}

CudnnTensor describe(const CudnnShape& shape, Dtype type, const char* name) {
  if (shape.rank() > 5)
    throw Refused(std::string("cuDNN takes five dimensions, and the strides of ") + name + " need more");
  std::vector<int> sizes, strides;
  for (std::size_t d = 0; d < shape.sizes.size(); ++d) {
    if (shape.strides[d] < 1)
      throw Refused(std::string("cuDNN repeats no elements, and ") + name + " has a stride of " +
                    std::to_string(shape.strides[d]));
    sizes.push_back(to_int(shape.sizes[d], "a size"));
    strides.push_back(to_int(shape.strides[d], "a stride"));
  }
  CudnnTensor tensor = create<CudnnTensor>(cudnn().cudnnCreateTensorDescriptor, "describing a tensor");
  const std::string doing = std::string("describing ") + name;
  require(cudnn().cudnnSetTensorNdDescriptor(tensor.get(), cudnn_type(type), shape.rank(), sizes.data(),
                                             strides.data()),
          doing.c_str());
  return tensor;
}

std::vector<int> per_dimension(std::span<const std::int64_t> list, int dimensions, const char* name) {
  std::vector<int> numbers;
  for (int d = 0; d < dimensions; ++d)
    numbers.push_back(to_int(list[list.size() == 1 ? 0 : static_cast<std::size_t>(d)], name));
  return numbers;
}

CudnnFactors factors(Dtype type) {
  static constexpr float f32[] = {1, 0};
  static constexpr double f64[] = {1, 0};
  if (type == Dtype::f64) return {&f64[0], &f64[1]};
  return {&f32[0], &f32[1]};
}

}  // namespace assay::cuda::peers

#endif
