#pragma once

#include <sys/types.h>

#include <vector>

namespace assay {

/** From now on the descendants of this process become its children when their own parent dies; Linux, prctl(2). */
void adopt_orphans();

/** The children of this process, dead ones that nobody has waited for included.
 *
 *  Empty too where the kernel does not list them (CONFIG_PROC_CHILDREN).
 */
std::vector<pid_t> children();

}  // namespace assay
