// Memory of the system's own, in huge pages as far as it has them, every page touched.
#pragma once

#include <cstddef>

namespace assay {

class Pages {
 public:
  Pages() = default;
  // Zeros. Large memory begins at a huge page. Throws std::bad_alloc.
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  std::byte* data() const { return data_; }

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace assay
