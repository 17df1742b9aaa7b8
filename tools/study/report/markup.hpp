// Defines how markup is made: a part of parts.html with its places filled in.
// No other file has an element of a page. Internal to this folder.

#ifndef ZEROULP_TOOLS_STUDY_REPORT_MARKUP_HPP_
#define ZEROULP_TOOLS_STUDY_REPORT_MARKUP_HPP_

#include <initializer_list>
#include <string>
#include <string_view>

namespace zeroulp {

/// What goes into the places of this name.
struct filling {
  std::string_view name;
  std::string_view text;
};

/// Fills in a template:
///
///     {{name}}              text, escaped
///     {{{name}}}            markup that was made before, as it is
///     {{?name}}...{{/name}} only where the text of `name` is not empty
///
/// What is put in is not looked at. Throws std::logic_error where a place has
/// no filling.
std::string fill(std::string_view form,
                 std::initializer_list<filling> fillings);

/// Fills in the part of parts.html that has this name, less the line's end
/// behind it. Throws std::logic_error if there is none.
std::string fill_part(std::string_view name,
                      std::initializer_list<filling> fillings);

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_REPORT_MARKUP_HPP_
