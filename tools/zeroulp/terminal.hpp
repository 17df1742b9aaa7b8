// Defines what the program knows of the terminal that it prints to.

#ifndef ZEROULP_TOOLS_ZEROULP_TERMINAL_HPP_
#define ZEROULP_TOOLS_ZEROULP_TERMINAL_HPP_

#include <cstddef>

namespace zeroulp::program {

/// The columns of the terminal that standard output goes to: COLUMNS where that
/// is a number, else what the terminal says. 0, which is no limit, where it
/// goes to none: what reads it there gets the same lines everywhere.
std::size_t terminal_width();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TERMINAL_HPP_
