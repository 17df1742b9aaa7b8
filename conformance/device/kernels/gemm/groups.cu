// Grouped GEMMs (several in one launch) against the engine: groups of any size,
// also empty, rows and elements of K in no group, invalid tables.

#include <limits>

#include "conformance/device/kernels/gemm/trial.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::gemm_groups;

/// Draws a size: zero, a few rows, near a tile's edge, or any.
std::int32_t draw_size(std::int32_t most, counter_rng& rng) {
  if (rng.one_in(4)) return 0;
  const auto size = static_cast<std::int32_t>(draw_length(most, rng));
  return std::min(size, most);
}

/// Draws adjacent groups of rows; rows before and after may be in no group.
void draw_rows(trial_shape& s, std::vector<std::int32_t>& table,
               std::int32_t most, counter_rng& rng) {
  std::int32_t at = rng.one_in(3) ? rng.between(0, 40) : 0;
  table.push_back(at);
  for (std::ptrdiff_t g = 0; g < s.count; ++g) {
    at += draw_size(most, rng);
    table.push_back(at);
  }
  s.m = at + (rng.one_in(3) ? rng.between(0, 200) : 0);
}

/// Draws ranges of K: edges are multiples of 128, the last may be k. Elements
/// before and after may be in no group.
void draw_ranges(trial_shape& s, std::vector<std::int32_t>& table,
                 counter_rng& rng) {
  std::int32_t at = rng.one_in(3) ? 128 : 0;
  table.push_back(at);
  for (std::ptrdiff_t g = 0; g < s.count; ++g) {
    if (!rng.one_in(3)) at += 128 * rng.between(1, 3);
    table.push_back(at);
  }
  s.k = at;
  if (rng.one_in(3)) {
    s.k += rng.between(0, 200);
  } else if (rng.one_in(2)) {
    // A tail of less than a block; empty groups may follow it.
    s.k += rng.between(1, 127);
    for (auto i = table.rbegin(); i != table.rend() && *i == at; ++i) {
      *i = static_cast<std::int32_t>(s.k);
      if (rng.one_in(2)) break;
    }
  }
}

std::int32_t draw_strange(std::ptrdiff_t most, counter_rng& rng) {
  const auto end = static_cast<std::int32_t>(most);
  switch (rng.below(8)) {
    case 0:
      return -rng.between(1, 300);
    case 1:
      return end + rng.between(1, 300);
    case 2:
      return std::numeric_limits<std::int32_t>::max() - rng.between(0, 300);
    case 3:
      return std::numeric_limits<std::int32_t>::min() + rng.between(0, 300);
    case 4:
      return static_cast<std::int32_t>(rng.next32());
    case 5:
      return rng.between(0, end);
    default:
      return rng.between(0, end / 128) * 128;
  }
}

/// Groups exist only for the recipes of training.
recipe draw_grouped_recipe(counter_rng& rng) {
  recipe r = draw_served_recipe(rng);
  if (r.update == promotion::add) {
    r.b = rng.one_in(2) ? tile_1x128 : block_128x128;
  }
  r.update = promotion::product_of_scales;
  r.interval = 128;
  r.a = tile_1x128;
  return r;
}

gemm_trial draw_trial(gemm_groups kind, bool is_strange, std::int32_t most,
                      counter_rng& rng) {
  trial_shape s{kind, rng.between(1, 7), 0, draw_length(most, rng),
                rng.one_in(16) ? 0 : draw_length(2 * most, rng)};
  std::vector<std::int32_t> table;
  if (kind == gemm_groups::m_contiguous) {
    draw_rows(s, table, most, rng);
  } else if (kind == gemm_groups::k_contiguous) {
    s.m = draw_length(most, rng);
    draw_ranges(s, table, rng);
  } else {
    s.m = draw_length(most, rng);
    for (std::ptrdiff_t g = 0; g < s.count; ++g) {
      const auto m = static_cast<std::int32_t>(s.m);
      table.push_back(rng.one_in(4) ? m : draw_size(m, rng));
    }
  }
  auto t = make_trial(draw_grouped_recipe(rng), s, rng);
  if (is_strange) {
    const bool by_k = kind == gemm_groups::k_contiguous;
    for (auto& entry : table) {
      if (rng.one_in(3)) entry = draw_strange(by_k ? s.k : s.m, rng);
    }
    // If two groups share rows and C is D, one would read the other's output.
    t.c_is_d = false;
    t.may_race = kind == gemm_groups::m_contiguous;
  }
  t.table = std::move(table);
  return t;
}

verdict check_groups(gemm_groups kind, bool is_strange, const effort& e) {
  verdict v;
  const std::uint64_t count = cases(e, 8, 100);
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed + 22 + static_cast<std::uint64_t>(kind), n);
    hold_gemm(draw_trial(kind, is_strange, e.level == 0 ? 140 : 300, rng), rng,
              v);
  }
  return v;
}

/// Empty sums give +0, or C. The scales would show in the result if a kernel
/// used them.
verdict check_empty(const effort& e) {
  constexpr std::uint32_t scales[] = {0xbf800000, 0x7f800000, 0x7fffffff};
  verdict v;
  for (std::uint64_t i = 0; i < 36; ++i) {
    counter_rng rng(e.seed + 26, i);
    const bool by_ranges = i / 6 % 2 == 1;
    auto r = i % 3 == 0 && !by_ranges ? cublaslt_tensorwise_recipe
             : i % 3 == 1             ? deepgemm_1d2d_recipe
                                      : deepgemm_1d1d_recipe;
    r.output = i / 3 % 2 == 0 ? fp32 : bf16;
    r.end = i % 4 == 0 ? epilogue::accumulate : epilogue::store;
    trial_shape s{gemm_groups::none, 1, 20, 40, 0};
    if (by_ranges) s = {gemm_groups::k_contiguous, 5, 20, 40, 200};
    auto t = make_trial(r, s, rng);
    for (word_matrix* x : {&t.sa, &t.sb}) {
      if (r.a.k == 0) *x = word_matrix(1, 1);
      x->words.assign(x->words.size(), scales[i / 12]);
    }
    // Only the second range has elements.
    if (by_ranges) t.table = {0, 0, 200, 200, 200, 200};
    hold_gemm(t, rng, v);
  }
  // A size that would select the kernel that overlaps D's TMA store with the
  // next tile, if there were products. It also needs rows of D aligned to 16
  // bytes, as in half of the draws.
  for (std::uint64_t i = 36; i < 44; ++i) {
    counter_rng rng(e.seed + 26, i);
    auto r = deepgemm_1d2d_recipe;
    r.output = bf16, r.end = epilogue::store;
    hold_gemm(make_trial(r, {gemm_groups::none, 1, 1030, 2304, 0}, rng), rng,
              v);
  }
  return v;
}

}  // namespace

check_list gemm_group_checks() {
  const auto check_of = [](const char* name, gemm_groups kind,
                           bool is_strange) {
    return device_check(name, "G1 G9 G13", "host", [=](const effort& e) {
      return check_groups(kind, is_strange, e);
    });
  };
  return {
      device_check("kernel.gemm.empty_sums", "G1 G8 G13", "host", check_empty),
      check_of("kernel.gemm.groups.rows", gemm_groups::m_contiguous, false),
      check_of("kernel.gemm.groups.first_rows", gemm_groups::m_masked, false),
      check_of("kernel.gemm.groups.k_ranges", gemm_groups::k_contiguous, false),
      check_of("kernel.gemm.strange_rows", gemm_groups::m_contiguous, true),
      check_of("kernel.gemm.strange_first_rows", gemm_groups::m_masked, true),
      check_of("kernel.gemm.strange_k_ranges", gemm_groups::k_contiguous,
               true)};
}

}  // namespace zeroulp::conformance::device
