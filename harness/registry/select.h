// Which operators and kernels a command line means: shell globs, and what begins with "!" leaves out.
//
//   select_operators({"conv*"})                  convolution and its backward
//   selects({"cpu.*", "!cpu.avx2"}, k.name)      cpu.avx512 and cpu.baseline
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "registry.h"

namespace assay {

// Asked for something that does not exist; the message names the nearest thing that does.
struct SelectionError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// What is asked for exists, and there is nothing to run of it.
struct NothingToRun : SelectionError {
  using SelectionError::SelectionError;
};

// The operators that globs select, as selects_operator() says. Throws SelectionError for a glob that matches nothing, and where all of them
// leave none.
std::vector<const Operator*> select_operators(const std::vector<std::string>& patterns);
// Whether the kernel's name matches one of the globs, or there are none but those that begin with "!"; and none of these.
bool selects(const std::vector<std::string>& globs, const std::string& name);
// The same of an operator, in each of its spellings: "add" and "aten::add*" match add.Tensor.
bool selects_operator(const std::vector<std::string>& globs, const std::string& name);
// The same of a kernel that has two names.
bool selects(const std::vector<std::string>& globs, const std::string& name, const std::string& other);
// Whether a glob that matches asks for it, which not to exclude it is not.
bool names(const std::vector<std::string>& globs, const std::string& name);
// Whether it is one of them, in which nothing stands for others.
bool names_literally(const std::vector<std::string>& globs, const std::string& name);
// Whether any of them is PyTorch's, on the processor or a GPU: its registry is loaded only then.
bool selects_torch(const std::vector<std::string>& globs);
// Throws SelectionError for a pattern that names a kernel, where it was meant for the list of --impl.
void check_patterns(const Registry& registry, const std::vector<std::string>& globs,
                    const std::vector<std::string>& patterns);
// "leaky_relu, softmax.int": whose kernels the plugins have.
std::string operators_of_plugins(const Registry& registry);
// Throws SelectionError for a glob that no kernel of these operators matches, and where all of them leave none.
void check_impls(const Registry& registry, const std::vector<const Operator*>& operators,
                 const std::vector<std::string>& globs);

}  // namespace assay
