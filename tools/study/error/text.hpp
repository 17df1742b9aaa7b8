// Defines the values of a cell's fields as text, as settings and the CSV have
// them: name_of_x(x) is what parse_x reads. These throw input_error. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_TEXT_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_TEXT_HPP_

#include "tools/study/error/cell.hpp"

namespace zeroulp::study {

std::string name_of_input(const input& x);
input parse_input(std::string_view text);

std::string name_of_element(format f);
format parse_element(std::string_view text);

std::string name_of_group(granularity g);
granularity parse_granularity(std::string_view text);

std::string name_of_timing(const timing& t);
timing parse_timing(std::string_view text);

std::string name_of_sum(const accumulation& a);
accumulation parse_sum(std::string_view text);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_TEXT_HPP_
