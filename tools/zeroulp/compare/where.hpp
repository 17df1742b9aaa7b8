// Defines in which rows and columns two matrices differ, as text and as JSON.
// A kernel's fault often has a shape: one tile, the tail, each eighth column.

#ifndef ZEROULP_TOOLS_ZEROULP_COMPARE_WHERE_HPP_
#define ZEROULP_TOOLS_ZEROULP_COMPARE_WHERE_HPP_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace zeroulp::program {

/// Which rows, or which columns.
struct differing_lines {
  std::vector<std::size_t> at;  ///< ascending
  std::size_t of = 0;
};

struct differing_places {
  std::uint64_t elements = 0;
  differing_lines rows, columns;
};

/// Where the codes differ. The last dimension has the columns, all before it
/// are rows.
differing_places places_of(std::span<const std::uint64_t> x,
                           std::span<const std::uint64_t> y,
                           const std::vector<std::size_t>& shape);

/// "1 of 130 rows (5), 32 of 256 columns (every 8th from 3)".
std::string to_text(const differing_places& p);
nlohmann::ordered_json to_json(const differing_places& p);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_COMPARE_WHERE_HPP_
