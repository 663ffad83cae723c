// Operators for texts of whole cases: with every kind of shape rule, of domain and of dimension that is computed.
#pragma once

namespace assay::fuzz {

// Does nothing the second time.
void enrol_operators();

}  // namespace assay::fuzz
