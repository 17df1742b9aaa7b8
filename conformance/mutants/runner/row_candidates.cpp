// Mutants of the named rows: one field of a path, a convention or a recipe is
// changed by one wherever the row is used. They show whether the suite has
// cases that separate each row from its neighbours. (That the rows themselves
// are those of the SPEC, checks compare one by one.)

#include <cstring>
#include <functional>

#include "conformance/mutants/runner/candidate.hpp"

namespace zeroulp::conformance {
namespace {

/// The change in force: one a process.
std::function<void(path&)> path_change;
std::function<void(convention&)> convention_change;
std::function<void(recipe&)> recipe_change;

implementation core;

std::uint64_t step_changed(const path& p, const std::uint64_t* a,
                           const std::uint64_t* b, int count, std::uint64_t c) {
  path q = p;
  path_change(q);
  return core.step(q, a, b, count, c);
}

group_scale make_scale_changed(const quantizer& q, std::uint32_t amax) {
  quantizer changed = q;
  convention_change(changed.how);
  return core.make_scale(changed, amax);
}

void quantize_changed(const quantizer& q, codes_in x, codes_out codes,
                      codes_out scales) {
  quantizer changed = q;
  convention_change(changed.how);
  core.quantize(changed, x, codes, scales);
}

void gemm_changed(const recipe& r, const gemm_operand<std::uint32_t>& a,
                  const gemm_operand<std::uint32_t>& b, codes_in c,
                  codes_out d) {
  recipe changed = r;
  recipe_change(changed);
  core.gemm(changed, a, b, c, d);
}

template <class Enum>
void next(Enum& value, int count) {
  value = static_cast<Enum>((static_cast<int>(value) + 1) % count);
}

void flip(bool& value) { value = !value; }

template <class T>
struct named_change {
  const char* name;
  void (*apply)(T&);
};

constexpr int roundings = 6;  // the stochastic mode has no bits here

constexpr named_change<path> path_changes[] = {
    {"F + 1", [](path& p) { ++p.acc.fraction_bits; }},
    {"F - 1", [](path& p) { --p.acc.fraction_bits; }},
    {"floor + 1", [](path& p) { ++p.acc.exponent_floor; }},
    {"floor - 1", [](path& p) { --p.acc.exponent_floor; }},
    {"output + 1 bit", [](path& p) { ++p.acc.output.man_bits; }},
    {"output - 1 bit", [](path& p) { --p.acc.output.man_bits; }},
    {"conversion", [](path& p) { next(p.acc.conversion, roundings); }},
    {"cut", [](path& p) { next(p.acc.cut, roundings); }},
    {"c", [](path& p) { next(p.acc.c, 2); }},
    {"renormalized", [](path& p) { p.acc.renormalized = !p.acc.renormalized; }},
    {"lowering", [](path& p) { next(p.lowering, 3); }},
};

/// False where the change would be none, or leave the accumulator's domain.
bool makes_sense(const path& from, const path& to) {
  const bool was_uncut = from.acc.fraction_bits == uncut;
  const bool fields = from.acc.fraction_bits != to.acc.fraction_bits ||
                      from.acc.cut != to.acc.cut || from.acc.c != to.acc.c ||
                      from.acc.renormalized != to.acc.renormalized;
  if (was_uncut && fields) return false;
  if (from.acc.exponent_floor == no_floor &&
      to.acc.exponent_floor != no_floor) {
    return false;
  }
  const bool lowered = from.lowering != lowering::direct;
  return to.acc.output.man_bits <= to.acc.stored.man_bits &&
         (lowered || from.lowering == to.lowering);
}

constexpr named_change<convention> convention_changes[] = {
    {"floor + 1 ulp", [](convention& c) { ++c.amax_floor; }},
    {"floor - 1 ulp",
     [](convention& c) { c.amax_floor -= c.amax_floor > 0 ? 1 : 0; }},
    {"scale", [](convention& c) { next(c.scale, 4); }},
    {"element", [](convention& c) { next(c.element, 5); }},
    {"amax", [](convention& c) { next(c.amax, 3); }},
    {"unit_of_zero", [](convention& c) { flip(c.edges.unit_of_zero); }},
    {"unit_of_infinity", [](convention& c) { flip(c.edges.unit_of_infinity); }},
    {"unit_of_nan", [](convention& c) { flip(c.edges.unit_of_nan); }},
    {"finite_inverse", [](convention& c) { flip(c.edges.finite_inverse); }},
    {"positive", [](convention& c) { flip(c.edges.positive); }},
    {"bf16_amax", [](convention& c) { flip(c.bf16_amax); }},
    {"scale_floor + 1 ulp", [](convention& c) { ++c.scale_floor; }},
    {"scale_floor - 1 ulp",
     [](convention& c) { c.scale_floor -= c.scale_floor > 0 ? 1 : 0; }},
    {"exponent", [](convention& c) { next(c.exponent, 3); }},
    {"bf16_scale", [](convention& c) { flip(c.bf16_scale); }},
    {"unrounded_inverse", [](convention& c) { flip(c.unrounded_inverse); }},
    {"through", [](convention& c) { next(c.through, 3); }},
    {"largest",
     [](convention& c) { c.largest = c.largest == 0 ? 0x43600000 : 0; }},
    {"saturate_finite",
     [](convention& c) { flip(c.conversion.saturate_finite); }},
    {"saturate_infinite",
     [](convention& c) { flip(c.conversion.saturate_infinite); }},
    {"nan_sign", [](convention& c) { flip(c.conversion.nan_sign); }},
    {"payload", [](convention& c) { next(c.conversion.payload, 4); }},
};

constexpr named_change<recipe> recipe_changes[] = {
    {"F + 1", [](recipe& r) { ++r.acc.fraction_bits; }},
    {"F - 1", [](recipe& r) { --r.acc.fraction_bits; }},
    {"L / 2", [](recipe& r) { r.acc.length /= 2; }},
    {"L * 2", [](recipe& r) { r.acc.length *= 2; }},
    {"interval / 2", [](recipe& r) { r.interval /= 2; }},
    {"interval * 2", [](recipe& r) { r.interval *= 2; }},
    {"update", [](recipe& r) { next(r.update, 3); }},
    {"a.mn", [](recipe& r) { r.a.mn = r.a.mn == 1 ? 2 : 1; }},
    {"a.k", [](recipe& r) { r.a.k *= 2; }},
    {"b.mn", [](recipe& r) { r.b.mn = r.b.mn == 1 ? 2 : r.b.mn / 2; }},
    {"b.k", [](recipe& r) { r.b.k *= 2; }},
    {"splits", [](recipe& r) { ++r.splits; }},
    {"epilogue", [](recipe& r) { next(r.end, 2); }},
    {"output", [](recipe& r) { r.output = r.output == fp32 ? bf16 : fp32; }},
};

/// The same without the rules for edges that it never meets: above a floor
/// neither amax, the scale nor its inverse is 0 or Inf for it, and not all have
/// an inverse. The kind of scale is the quantizer's.
convention effective(convention c) {
  const bool scale_by_inverse = c.scale == scale_rule::reciprocal_inverse ||
                                c.scale == scale_rule::reciprocal_product;
  const bool has_inverse =
      scale_by_inverse || c.element == element_rule::inverse;
  auto& edges = c.edges;
  if (!has_inverse) edges.finite_inverse = false;
  if (c.amax != amax_rule::keep_nan) edges.unit_of_nan = false;
  if (c.element != element_rule::inverse) c.unrounded_inverse = false;
  if (c.amax_floor > 0) {
    edges.unit_of_zero = edges.finite_inverse = edges.positive = false;
  }
  if (scale_by_inverse && edges.finite_inverse) edges.positive = false;
  c.power_of_two = false;
  return c;
}

bool equal(const convention& a, const convention& b) {
  return effective(a) == effective(b);
}

bool equal(const recipe& a, const recipe& b) {
  return a.acc == b.acc && a.interval == b.interval && a.update == b.update &&
         a.a == b.a && a.b == b.b && a.splits == b.splits && a.end == b.end &&
         a.output == b.output;
}

bool equal(const path& a, const path& b) {
  return a.acc == b.acc && a.lowering == b.lowering;
}

/// `row`, once for all rows of the same value, changed by each of `changes`.
template <class T, class Changes, class Install>
void add_row(candidate_list& all, const std::string& name, const T& row,
             subject first, const Changes& changes, Install install) {
  for (const auto& change : changes) {
    T changed = row;
    change.apply(changed);
    if (equal(changed, row)) continue;
    if constexpr (std::is_same_v<T, path>) {
      if (!makes_sense(row, changed)) continue;
    }
    all.push_back({"rows", "rows:" + name + ": " + change.name, "", first,
                   [row, apply = change.apply, install] {
                     core = core_implementation();
                     implementation table = core;
                     install(table, [row, apply](T& value) {
                       if (equal(value, row)) apply(value);
                     });
                     return table;
                   }});
  }
}

template <class Rows, class Row, class Value>
bool seen_before(const Rows& rows, const Row& row, Value value) {
  for (const auto& other : rows) {
    if (&other == &row) return false;
    if (equal(value(other), value(row))) return true;
  }
  return false;
}

}  // namespace

candidate_list row_candidates() {
  candidate_list all;
  const auto path_of = [](const path_family& f) {
    return path{{}, {}, f.acc, f.lowering};
  };
  for (const auto& family : path_families) {
    if (seen_before(path_families, family, path_of)) continue;
    const std::string name = std::string(family.name) + " L" +
                             std::to_string(family.acc.length) +
                             (family.acc.stored == fp16 ? " f16" : "");
    add_row(all, name, path_of(family), subject::step, path_changes,
            [](implementation& table, std::function<void(path&)> change) {
              path_change = std::move(change);
              table.step = step_changed;
            });
  }
  const auto value_of = [](const auto& row) { return row.value; };
  for (const auto& row : named_conventions) {
    if (seen_before(named_conventions, row, value_of)) continue;
    add_row(all, row.name, row.value, subject::quantize, convention_changes,
            [](implementation& table, std::function<void(convention&)> change) {
              convention_change = std::move(change);
              table.make_scale = make_scale_changed;
              table.quantize = quantize_changed;
            });
  }
  for (const auto& row : named_recipes) {
    if (seen_before(named_recipes, row, value_of)) continue;
    if (row.value.acc.fraction_bits == uncut) continue;
    add_row(all, row.name, row.value, subject::gemm, recipe_changes,
            [](implementation& table, std::function<void(recipe&)> change) {
              recipe_change = std::move(change);
              table.gemm = gemm_changed;
            });
  }
  return all;
}

}  // namespace zeroulp::conformance
