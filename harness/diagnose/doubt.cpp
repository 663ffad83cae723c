#include <chrono>

#include "diagnosis.h"
#include "suspects.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {

std::optional<Diagnosis> doubt_of(Evidence& evidence, std::chrono::milliseconds most) {
  constexpr std::size_t kFew = 64;
  const auto until = std::chrono::steady_clock::now() + most;
  const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
  Diagnosis d;
  try {
    d.strictest = strictest(evidence, kFew);
    if (!d.strictest || d.strictest->decided()) return std::nullopt;
    d.kind = Diagnosis::Kind::undecided;
    d.op = evidence.call().op->schema.name;
    d.contract = text(evidence.contract());
    d.elements = evidence.elements();
    d.judged = evidence.judged();
    d.undecidable = evidence.undecidable();
    d.nearer = nearest(evidence, suspects_of(*evidence.call().op), further_suspects_of(*evidence.call().op));
  } catch (const Stopped&) {
    if (d.kind != Diagnosis::Kind::undecided) return std::nullopt;
    d.complete = false;
  }
  return d;
}

}  // namespace assay::diagnose
