// What ThreadSanitizer printed before it ended its process.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// With which a report ends the process.
inline constexpr int kSanitizerStatus = 66;

// "data race (ThreadSanitizer): write of size 8 by main thread at racy p.c:9, previous read of size 8 by thread T1 at work p.c:5; location
// is global 'shared' of size 8"; or "" where there is no report.
std::string sanitizer_report(std::string_view printed);

}  // namespace assay
