// What is made of an operator's texts: once, because it is asked for with every case.
#pragma once

#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "operator.h"

namespace assay {

// make(op), which is called for the first operator that has these texts, and stays. The texts live as long as the program.
template <class T>
const T& once_per_operator(const Operator& op, T (*make)(const Operator&)) {
  struct Latest {
    const char *schema = nullptr, *shapes = nullptr, *domains = nullptr, *ranges = nullptr;
    const T* made = nullptr;
    bool operator==(const Latest&) const = default;
  };
  thread_local Latest latest;  // the same operator is asked for again and again
  const Latest asked{op.schema.text.data(), op.shapes.data(), op.domains.data(), op.ranges.data(),
                     latest.made};
  if (latest.made != nullptr && asked == latest) return *latest.made;
  static std::mutex mutex;
  using Texts = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  static std::map<Texts, T> all;  // by the texts, never by address: tests have operators of their own
  const std::scoped_lock lock(mutex);
  const Texts texts{op.schema.text, op.shapes, op.domains, op.ranges};
  auto known = all.find(texts);
  if (known == all.end()) known = all.emplace(texts, make(op)).first;
  latest = asked;
  latest.made = &known->second;
  return known->second;
}

}  // namespace assay
