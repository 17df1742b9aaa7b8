// Defines the texts of page.html and parts.html. CMake makes their definitions
// of those files. Internal to this folder.

#ifndef ZEROULP_TOOLS_STUDY_REPORT_PAGE_TEMPLATE_HPP_
#define ZEROULP_TOOLS_STUDY_REPORT_PAGE_TEMPLATE_HPP_

namespace zeroulp {

/// A page with its {{title}} and its {{{body}}}.
extern const char* const page_template;

/// What a body is made of: see markup.hpp. A part begins with {{part NAME}}.
extern const char* const parts_template;

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_REPORT_PAGE_TEMPLATE_HPP_
