// Text as XML 1.0 can hold it.
#pragma once

#include <string>
#include <string_view>

namespace assay {

enum class XmlPlace { attribute, content };

// Well-formed wherever the bytes come from: what is no UTF-8, and characters that XML does not have, are left out.
std::string xml_text(std::string_view text, XmlPlace place = XmlPlace::attribute);

}  // namespace assay
