// What is shown while work goes on.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace assay {

bool stdout_is_terminal();
// Colours only on a terminal, and never when NO_COLOR is set.
bool use_colour();

// "assay: MESSAGE" on standard error, without what could steer the terminal: messages quote files.
void complain(std::string_view message);

// One line on standard error that is rewritten on a terminal; a line every half minute elsewhere.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  void show(const std::string& text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

// "12 s", "3 min 05 s"
std::string duration_text(double seconds);

}  // namespace assay
