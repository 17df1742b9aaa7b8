// Defines the search for the order of an instruction: which products meet in a
// step, in which order steps follow, where c joins.
//
// Two kinds of experiments need to know nothing about how a step aligns:
//
//   +B, -B, s   s is so far below B that no sum holds both. It survives iff it
//               comes in when B and -B have cancelled.
//   c, h, h     h is half of c's last bit. Two of them in one step are a bit.
//
// The order is that of which every outcome follows (predict()).

#ifndef ZEROULP_FUZZ_PROBE_ORDER_HPP_
#define ZEROULP_FUZZ_PROBE_ORDER_HPP_

#include "fuzz/probe/black_box.hpp"
#include "fuzz/probe/mechanism.hpp"

namespace zeroulp::fuzz {

struct order_found {
  grouping order;
  fuzz::joins joins;
};

/// Every order for `length` products that the search knows, the simplest first.
std::vector<order_found> all_orders(int length);

/// Asks the box for the least exponent of a product that comes through alone: a
/// floor cuts what lies far below it, beside nothing. `subnormals`: whether its
/// operands may be subnormal.
int lowest_product(experiments& asked, bool subnormals);

/// Asks the box and returns the orders that agree with all its answers, the
/// simplest first; none, if the box follows no order of all_orders(). `lowest`
/// is its lowest_product().
std::vector<order_found> find_orders(experiments& asked, int lowest);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_ORDER_HPP_
