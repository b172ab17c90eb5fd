// Reading XML files that a user names.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// Refused, besides what is no XML: a document type that declares something, since entities could make a small
// file a large one, and elements nested deeper than any machine needs, since what reads them recurses.
// `name` is the file's, for messages. Errors: corrupt.
Result<void> parse_xml(std::string_view text, std::string_view name, pugi::xml_document& document);

}  // namespace pinstep
