// The charts of a report's page, each as a picture of its own, for documents and slides.
//
//   for (const Drawing& d : drawings(report)) write_file(d.name + ".svg", d.svg);
#pragma once

#include <string>
#include <vector>

#include "report.h"

namespace assay {

// SVG that needs nothing else, on a white ground.
struct Drawing {
  std::string
      name;  // of its kind, with a number from the second of a kind on: "roofline", "roofline-2", "tensor"
  std::string svg;
};

// In the order of the page.
std::vector<Drawing> drawings(const Report& report);

}  // namespace assay
