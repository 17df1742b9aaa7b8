// The names of paths with block scales.

#include <fmt/format.h>

#include "src/base/near_names.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

constexpr const char* instructions[] = {"blackwell.tcgen05",
                                        "rtx_blackwell.mma"};

/// A kind of instruction for E2M1.
struct fp4_kind {
  const char* name;
  block_scale scale;
  int block;
};
constexpr fp4_kind fp4_kinds[] = {
    {"mxf4", block_scale::power_of_two, 32},
    {"mxf4nvf4", block_scale::unsigned_e4m3, 16},
    {"mxf4nvf4_ue8m0", block_scale::power_of_two, 16},
};

named_block_scaled_path named(std::string_view family,
                              const block_scaled_path& p) {
  auto name = fmt::format("{}.{}.{}.f32", family, name_of(p.unscaled.a),
                          name_of(p.unscaled.b));
  auto known_by = evidence_of(name);
  return {std::move(name), p, std::move(known_by)};
}

std::vector<named_block_scaled_path> make_block_scaled_paths() {
  std::vector<named_block_scaled_path> paths;
  for (const char* instruction : instructions) {
    const auto family = fmt::format("{}.mxf8f6f4", instruction);
    for (const auto& [a, b] : operand_pairs(operands::f8f6f4)) {
      paths.push_back(named(family, mxf8f6f4(a, b)));
    }
    for (const auto& kind : fp4_kinds) {
      paths.push_back(named(fmt::format("{}.{}", instruction, kind.name),
                            fp4_by_blocks(kind.scale, kind.block)));
    }
  }
  return paths;
}

/// The what-if of this name.
bool find_what_if(std::string_view text, named_block_scaled_path& found) {
  for (int f = 8; f <= 34; ++f) {
    const auto family = fmt::format("whatif.block_scaled_f{}", f);
    if (!text.starts_with(family)) continue;
    for (const auto& [a, b] : operand_pairs(operands::fp8)) {
      found = named(family, what_if_block_scaled(a, b, f));
      if (found.name == text) return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<named_block_scaled_path>& all_block_scaled_paths() {
  static const auto paths = make_block_scaled_paths();
  return paths;
}

named_block_scaled_path parse_block_scaled_path(std::string_view text) {
  for (const auto& row : all_block_scaled_paths()) {
    if (row.name == text) return row;
  }
  named_block_scaled_path found;
  if (find_what_if(text, found)) return found;
  throw input_error(fmt::format(
      "unknown path with block scales '{}': {}`zeroulp block-scaled-paths` "
      "lists them; whatif.block_scaled_fN.A.B.f32 takes N from 8 to 34",
      text, did_you_mean(text, names_in(all_block_scaled_paths()))));
}

}  // namespace zeroulp
