// What is said of a program that was recorded.
#pragma once

#include <string>

#include "../trace/record.h"

namespace assay {

// On standard error: how many calls the trace has, and which it does not have.
void say_recorded(const RecordSummary& s, const RecordOptions& options);

// Precondition: the call that RecordOptions::call asks for did not come. Says so, with those that did.
std::string no_such_call(const RecordSummary& s, const RecordOptions& options);

}  // namespace assay
