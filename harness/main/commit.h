// What commit this program was built from.
#pragma once

#include <string_view>

namespace assay {

// "-dirty" after it if files had been changed since; empty if that is not known. Defined by what ci/cmake/write_commit wrote.
extern const std::string_view built_from;

}  // namespace assay
