// Processes that have lost their parent.
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

/** Ends all children of this process, those that come to it meanwhile too. */
void end_children();

/** While one lives, orphans among this process's descendants become its children; with the last one those that have come end.
 *
 *  That is every child but those that this process had before the first one: others are not to be started meanwhile, or to be
 *  waited for before the last one goes.
 */
class Adoption {
 public:
  Adoption();
  ~Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
};

}  // namespace assay
