// The arguments of a generated case, one aspect after the other: shapes, then dtypes, then everything that is no tensor.
#pragma once

#include "draw.h"
#include "vocabulary/case.h"

namespace assay {

// Contiguous tensors of this dtype for every tensor argument that has a pattern, None for the others; what is no tensor
// gets its schema default, or the simplest value of its domain. With `draw`, optional tensors are sometimes left out
// and tensors that may broadcast have dimensions that are 1 or missing.
// Throws std::invalid_argument if a required tensor has no pattern.
Case with_shapes(const Operator& op, Dtype dtype, const ShapeAlternative& alternative,
                 const ShapeBinding& binding, Draw* draw);

// Different dtypes for the tensors, or a dtype argument, wherever the dtype rule still gives results of this dtype.
void draw_dtypes(Draw& draw, Case& c, Dtype result_dtype);

// Layouts for the tensors: all contiguous in two of five cases, else any that fit.
void draw_layouts(Draw& draw, Case& c);

// Values of the schema's and the domains' choosing for every argument that is no tensor; `dtype` arguments are
// draw_dtypes's business.
void draw_attributes(Draw& draw, Case& c, Dtype result_dtype);
// The same of one argument, which the shape rule does not bind.
void redraw_attribute(Draw& draw, Case& c, std::size_t argument, Dtype result_dtype);
// The attribute of a call in another dtype. Where integers alone are taken, a number that is none becomes the next one away from
// zero (a factor of 0.1 is no factor of 0), and what is beyond the dtype its end.
CaseValue as_dtype_takes(const Operator& op, std::size_t argument, const CaseValue& value,
                         Dtype result_dtype);

}  // namespace assay
