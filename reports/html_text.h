// Text from outside in a page of HTML: it is never markup, whatever names people give to operators, kernels and files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

// As UTF-8 without what could deceive a reader: bytes that are no UTF-8, control characters other than tab and line end, and
// characters that turn the direction of writing become U+FFFD each.
std::string clean(std::string_view text);

// At most `most` code points of it; the end becomes "...".
std::string shortened(std::string_view text, std::size_t most);

// Cleaned, and escaped for content and for attributes in quotes.
std::string html_text(std::string_view text);

// Cleaned, as a part of the address after "#": letters, digits and -._~ stay, other bytes become %XX.
std::string fragment(std::string_view text);

// Cleaned, as a string of JSON inside <script type="application/json">: "<" is an escape.
std::string script_json(std::string_view text);

// A number as JSON: infinities as 1e999, which overflows to them again; NaN as the text "NaN".
std::string script_json(double value, int digits);

}  // namespace assay
