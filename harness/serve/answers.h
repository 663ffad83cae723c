// What `assay serve` answers to one request.
#pragma once

#include <string>

#include "request.h"
#include "shared_memory.h"

namespace assay::serve {

struct Reply {
  std::string text;     // JSON
  AnswerMemory memory;  // the arrays that it speaks of
};

// Throws RequestError, and Stopped where a StopScope ends the work.
Reply reply_to(const Request& request, const ReadMemory& read);

// What a program is told of a request that has no answer: {"error": "..", "kind": ".."}.
Reply failure(std::string_view kind, std::string_view error);

}  // namespace assay::serve
