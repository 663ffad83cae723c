// The style and the script of a report, page/page.css and page/page.js, as CMake put them into the program.
#pragma once

#include <string_view>

namespace assay {

extern const std::string_view kPageCss, kPageCssSha256;  // the hashes in hexadecimal
extern const std::string_view kPageJs, kPageJsSha256;

}  // namespace assay
