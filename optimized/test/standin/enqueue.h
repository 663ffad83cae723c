// Work for the device that stands in for a GPU in tests (optimized/cuda/standin/device.h): its memory can
// only be touched while its work runs, after the call that asked for it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

extern "C" void assay_standin_enqueue(void (*work)(void*), void* data);

namespace standin {

// `work` owns what it needs of the caller: descriptors and factors may be gone when it runs.
inline void enqueue(std::function<void()> work) {
  auto held = std::make_unique<std::function<void()>>(std::move(work));
  assay_standin_enqueue(
      [](void* data) {
        const std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()>*>(data));
        (*own)();
      },
      held.release());
}

}  // namespace standin
