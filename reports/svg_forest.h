// A forest plot: ratios of times with their intervals, one below the other, and a line where nothing differs.
#pragma once

#include <string>
#include <vector>

#include "bench_file.h"

namespace assay {

struct ForestRow {
  std::string label, link;  // link: "#...", to the row of a table
  Estimate ratio;
  std::string look;     // a class of page.css: good, bad, doubtful, none
  std::string verdict;  // in a word, so that no colour is needed
};

// `compared`: what the times are divided by, as in "time / base". `threshold` is the change that counts, 0 for none: a band
// around 1. Empty for no rows.
std::string forest_chart(const std::vector<ForestRow>& rows, const std::string& compared, double threshold);

}  // namespace assay
