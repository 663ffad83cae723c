// Which of Assay's files a text is, from its "format", without reading all of it.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// "assay.run/1", "assay.selftest/1", "assay.bench/1", "assay.history/1", ...: the first "format" at the top, or in
// "context.assay" as in benchmark files. Empty if there is none. Throws FileError that names the file for a text that is no JSON.
std::string format_of(std::string_view text, const std::string& name);

}  // namespace assay
