// The bins of the target `step`.

#include "fuzz/targets/step/bins.hpp"

#include <algorithm>

#include "zeroulp/names.hpp"

namespace zeroulp::fuzz::step_bin {
namespace {

using at_values = bin_table::combination;

/// Returns true iff an output format can have this result. at[0] is the format:
/// 0 e8m13, 1 fp32, 2 fp16, 3 the others of whatif.fN.
bool has_conversion(const at_values& at) {
  const int output = at[0];
  const bool beyond = at[1] == 4;
  const auto part = static_cast<gap_part>(at[1]);
  const auto gives = static_cast<code_kind>(at[2]);
  if (beyond) {
    // A cut toward -Inf reaches it from c alone (whatif.sign_fill).
    return gives == code_kind::infinite &&
           (output == 1 || output == 2 || (output == 0 && at[3] == 1));
  }
  if (part == gap_part::exact) {
    return gives >= code_kind::subnormal && gives <= code_kind::largest;
  }
  switch (output) {
    case 1:  // truncated, or to nearest: sequential and exact
      if (gives == code_kind::infinite) return part != gap_part::below;
      return gives < code_kind::infinite;
    case 2:  // to nearest
      if (gives == code_kind::zero) return part != gap_part::above;
      if (gives == code_kind::largest) return part != gap_part::tie;
      if (gives == code_kind::infinite) return part != gap_part::below;
      return gives < code_kind::infinite;
    default:
      // F bits below the largest place: only carries need a conversion, and
      // none remains at either end of the range.
      return gives == code_kind::normal;
  }
}

bin_table make_table() {
  const bin_axis terms{"term", {"product", "c"}};
  const bin_axis cuts{"F", {"13", "25", "other"}};
  const bin_axis parts{"at", {"exact", "below", "tie", "above", "beyond"}};
  const bin_axis lowerings{"lowering", {"chained", "zero"}};
  const auto lost = [](int f, const char* more) {
    auto values = counted_up(0, f, more);
    values.insert(values.begin(), {"-2", "-1"});
    values.pop_back();
    return bin_axis{f == 13 ? "F=13 lost" : "F=25 lost", values};
  };
  bin_axis paths{"path", {}};
  for (const auto& p : all_paths()) paths.values.push_back(p.name.c_str());
  bin_table t;
  t.add({terms, {"F=13 shift", counted_up(0, 14, "15+")}, sign_axis()});
  t.add({terms, {"F=25 shift", counted_up(0, 26, "27+")}, sign_axis()});
  t.add({terms,
         {"shift", {"0", "1", "to_F-2", "F-1", "F", "F+1", "more"}},
         sign_axis()});
  t.add({cuts,
         terms,
         {"lowest_cut", counted_up(1, lowest_positions - 1, "24+")}});
  t.add({cuts,
         terms,
         {"highest_cut", counted_up(1, highest_positions - 1, "6+")}});
  t.add({cuts,
         {"c_beside_product",
          {"no_product", "below_F+1", "-F-1", "-F", "-F+1", "below", "-1", "0",
           "1", "above", "F-1", "F", "F+1", "above_F+1"}},
         sign_axis()});
  t.add({kind_axis("c"), sign_axis()});
  t.add({lost(13, ""), {"cut", {"no", "yes"}}});
  t.add({lost(25, ""), {"cut", {"no", "yes"}}});
  t.add({cuts, {"zero_sum", {"no_term", "exact", "cut"}}});
  t.add({{"output", {"e8m13", "fp32", "fp16", "e8mN"}},
         parts,
         kind_axis("gives"),
         sign_axis()},
        has_conversion);
  t.add({{"floor", {"-133", "-132", "-21_to_-19"}},
         {"largest", {"below", "-1", "0", "1", "above", "below_and_cut"}}});
  t.add({{"special",
          {"nan_a", "nan_b", "nan_c", "0*inf", "inf*0", "inf-inf", "inf-c"}}});
  t.add({{"inf", {"product", "c", "both"}}, sign_axis()});
  t.add({{"subnormal", {"a", "b", "both"}}, {"largest", {"no", "yes"}}});
  t.add({{"largest_at_k", counted_up(0, 30, "31+")}});
  // FP8 products exceed the range of FP16, but not of FP32, and every lowering
  // that ends in FP16 is chained.
  t.add({{"joined", {"chained", "zero", "c_last"}}, parts},
        [](const at_values& at) { return at[0] == 0 || at[1] != 4; });
  t.add({lowerings, {"terms_in", {"none", "first", "second", "both"}}});
  t.add({{"products", {"none", "one", "some", "all"}}});
  t.add({paths}, [](const at_values& at) {
    // A path with several names counts under the first.
    const auto& all = all_paths();
    const auto same = [&](const auto& p) {
      return p.value == all[static_cast<std::size_t>(at[0])].value;
    };
    return std::find_if(all.begin(), all.end(), same) - all.begin() == at[0];
  });
  t.add({{"whatif.f", counted_up(8, 33, "34")}});
  return t;
}

}  // namespace

const bin_table& table() {
  static const bin_table bins = make_table();
  return bins;
}

}  // namespace zeroulp::fuzz::step_bin
