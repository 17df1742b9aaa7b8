// Defines `make_case`: an experiment written as terms, each an integer times a
// power of two, at a place among the products or as c.

#ifndef ZEROULP_FUZZ_PROBE_TERMS_HPP_
#define ZEROULP_FUZZ_PROBE_TERMS_HPP_

#include <optional>
#include <vector>

#include "fuzz/probe/black_box.hpp"

namespace zeroulp::fuzz {

/// The place of a term that is c, and no product.
inline constexpr int is_c = -1;

/// (-1)^negative * u * v * 2^exponent: product k, or c.
struct probe_term {
  int k;
  int exponent;
  bool negative = false;
  std::uint64_t u = 1;
  std::uint64_t v = 1;
};

/// The case of these terms, all other products +0 * +0; nothing if the box's
/// formats do not have the numbers.
std::optional<step_case> make_case(const black_box& box,
                                   const std::vector<probe_term>& terms);

/// An accumulator of which nothing is known but the format of its result.
accumulator unknown_accumulator(format stored);

/// The box's formats and length with an accumulator: as cases are made for it.
path path_of(const black_box& box, const accumulator& acc);

/// Exponents of powers of two: `high`, the largest that a product and an output
/// can both be, and `low`, the smallest.
struct reach {
  int high;
  int low;
};
reach reach_of(format a, format b, format stored);
inline reach reach_of(const black_box& box) {
  return reach_of(box.a, box.b, box.stored);
}

/// Cases in a row; those that a box's formats cannot hold are left out.
class case_list {
 public:
  explicit case_list(const black_box& box) : box_(box) {}

  void add(const std::vector<probe_term>& terms) {
    if (auto s = make_case(box_, terms)) cases_.push_back(std::move(*s));
  }
  void add_case(step_case s) { cases_.push_back(std::move(s)); }
  const black_box& box() const { return box_; }
  const std::vector<step_case>& cases() const { return cases_; }

 private:
  const black_box& box_;
  std::vector<step_case> cases_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_TERMS_HPP_
