// Defines a report of parity as text, tables, JSON and a page.

#ifndef ZEROULP_TOOLS_ZEROULP_PARITY_TEXT_HPP_
#define ZEROULP_TOOLS_ZEROULP_PARITY_TEXT_HPP_

#include <cstddef>
#include <string>

#include "tools/parity/parity.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// `width` is that of its tables' lines; 0: as long as they are.
std::string text_of(const parity::parity_report& r, std::size_t width = 0);
json to_json(const parity::parity_report& r);

/// `a` and `b` are the names of the dumps.
std::string page_of(const std::string& a, const std::string& b,
                    const parity::parity_report& r);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PARITY_TEXT_HPP_
