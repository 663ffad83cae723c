// A report as Markdown for a job summary (GitHub, GitLab): the verdict, what is at fault, what was lost, what became slower.
#pragma once

#include <string>

#include "report.h"

namespace assay {

// At most about 500 kB: GitHub takes one megabyte. Names are text, whatever they hold.
std::string markdown(const Report& report);

// Text in a cell of a table: no character of it is markup.
std::string markdown_text(std::string_view text);

}  // namespace assay
