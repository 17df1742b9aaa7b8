// Defines the text of page.html. CMake makes its definition of that file.
// Internal to this folder.

#ifndef ZEROULP_TOOLS_STUDY_REPORT_PAGE_TEMPLATE_HPP_
#define ZEROULP_TOOLS_STUDY_REPORT_PAGE_TEMPLATE_HPP_

namespace zeroulp {

/// A page with {{title}}, twice, and {{body}} behind it.
extern const char* const page_template;

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_REPORT_PAGE_TEMPLATE_HPP_
