#include "readers.h"

#include "origin.h"

namespace assay {

Readers::Readers(const CaseFile& trace) {
  constexpr std::string_view kFrom = "from.", kThrough = "through.", kOnto = "onto.", kOver = "over.";
  for (std::size_t k = 0; k < trace.calls.size(); ++k)
    for (const auto& [key, value] : trace.calls[k].notes) {
      if (key.starts_with(kFrom)) {
        if (const auto origin = parse_origin(value))
          all_[{origin->call, origin->result}].push_back({k, key.substr(kFrom.size()), !origin->strides});
      } else if (key.starts_with(kThrough)) {
        if (const auto through = parse_through(value))
          for (const Origin& origin : through->from)
            all_[{origin.call, origin.result}].push_back({k, key.substr(kThrough.size()), false});
      } else if (key.starts_with(kOnto) || key.starts_with(kOver)) {
        // What is written over is not read, but is another one for those that read it later.
        if (const auto origin = parse_origin(value); origin && key.starts_with(kOnto))
          all_[{origin->call, origin->result}].push_back({k, "", false});
      }
    }
}

const std::vector<Reader>& Readers::of(std::size_t call, const std::string& output) const {
  static const std::vector<Reader> kNone;
  const auto found = all_.find({call, output});
  return found == all_.end() ? kNone : found->second;
}

const Reader* Readers::only_one(std::size_t call, const std::string& output) const {
  const std::vector<Reader>& all = of(call, output);
  return all.size() == 1 && all[0].whole ? all.data() : nullptr;
}

}  // namespace assay
