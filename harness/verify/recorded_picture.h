// Where the results in a case file diverge, for a report.
#pragma once

#include <optional>

#include "../files/case_file.h"
#include "reports/report.h"

namespace assay {

// Of the first result with elements outside of what was recorded as allowed; none if no result has any.
std::optional<TensorPicture> recorded_picture(const RecordedCall& call);

}  // namespace assay
