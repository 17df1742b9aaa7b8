// cuBLASLt's GEMMs against the recipes that they are claimed to follow. The
// emulator computes the recipe; other checks compare the emulator with the
// core.
//
//   peer.cublaslt.NAME.FORMAT      chosen shapes, every algorithm on offer
//   peer.cublaslt.drawn.NAME       random shapes, FP32 outputs, the algorithm
//                                  that cuBLASLt itself would take
//   peer.cublaslt.shapes.NAME      shapes of a user, likewise

#include <map>
#include <memory>
#include <optional>

#include "conformance/device/device.hpp"
#include "conformance/device/peers/cublaslt_problem.cuh"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using peers::cublaslt_algorithm;
using peers::cublaslt_problem;
using peers::cublaslt_scales;
using peers::cublaslt_scaling;

/// Rows that are held of a problem of which there are many: no bit depends on
/// the row (G9).
constexpr std::ptrdiff_t some_rows = 64;

std::string text(std::ptrdiff_t n) { return std::to_string(n); }

/// "cuBLASLt 13.1.0, 256x256x1024 e4m3 e4m3 to bf16".
std::string name_of(const cublaslt_problem& p) {
  return "cuBLASLt " + peers::cublaslt_version() + ", " + text(p.m) + "x" +
         text(p.n) + "x" + text(p.k) + " " + zeroulp::name_of(p.a) + " " +
         zeroulp::name_of(p.b) + " to " + zeroulp::name_of(p.output) +
         (p.adds ? " with C added" : "");
}

std::string with_splits(const char* recipe, int splits) {
  return recipe +
         (splits == 1 ? std::string() : " with " + text(splits) + " splits");
}

/// A way to call cuBLASLt. `half` without scales: both operands are of it.
struct peer_row {
  const char* name;
  cublaslt_scaling scaling;
  format half = bf16;
};

using peers::cublaslt_scalings;
constexpr peer_row peer_rows[] = {
    {"tensor.fast", row_named(cublaslt_scalings, "tensor.fast")},
    {"tensor.precise", row_named(cublaslt_scalings, "tensor.precise")},
    {"1x128_128x128", row_named(cublaslt_scalings, "1x128_128x128")},
    {"1x128_1x128", row_named(cublaslt_scalings, "1x128_1x128")},
    {"128x128_1x128", row_named(cublaslt_scalings, "128x128_1x128")},
    {"rows.fast", row_named(cublaslt_scalings, "rows.fast")},
    {"rows.precise", row_named(cublaslt_scalings, "rows.precise")},
    // The same chain as `unpromoted`, in steps of 16 elements.
    {"bf16", row_named(cublaslt_scalings, "none")},
    {"fp16", row_named(cublaslt_scalings, "none"), fp16},
};

cublaslt_problem problem_of(const peer_row& row, std::ptrdiff_t m,
                            std::ptrdiff_t n, std::ptrdiff_t k, format a,
                            format b, format output) {
  const bool halves = row.scaling.scales == cublaslt_scales::none;
  return {m,
          n,
          k,
          halves ? row.half : a,
          halves ? row.half : b,
          output,
          row.scaling.scales,
          row.scaling.fast_accumulation,
          false};
}

struct peer_shape {
  int level;
  std::ptrdiff_t m, n, k;
  format a, b;
  family of;
};

constexpr peer_shape peer_shapes[] = {
    {0, 256, 256, 1024, e4m3, e4m3, family::normal},
    {0, 512, 384, 4096, e4m3, e5m2, family::finite},
    // K / 128 is no multiple of 4; K is no multiple of 128.
    {1, 384, 640, 384, e5m2, e4m3, family::spread},
    {1, 256, 272, 400, e4m3, e4m3, family::finite},
    {1, 1024, 1024, 2048, e4m3, e4m3, family::cancelling},
    {1, 64, 512, 7168, e4m3, e4m3, family::normal},
    {1, 16, 4096, 7168, e4m3, e4m3, family::normal},
    // Split K that tells rules for the length of a split apart: units of 16
    // elements from units of 32, 64, 128, 256, 512 and 1024. Three to five
    // splits have uneven lengths.
    {1, 16, 4096, 6160, e4m3, e4m3, family::normal},
    {1, 16, 4096, 7312, e4m3, e4m3, family::normal},
    {1, 1, 4096, 7168, e4m3, e4m3, family::normal},
    {1, 128, 7168, 2048, e4m3, e5m2, family::normal},
    // Rows of scales that are no multiple of 4; one interval.
    {1, 5, 1536, 7168, e4m3, e4m3, family::normal},
    {1, 384, 640, 128, e4m3, e4m3, family::normal},
    {1, 1, 640, 128, e4m3, e4m3, family::normal},
    {2, 4096, 2048, 7168, e4m3, e4m3, family::normal},
    {2, 4096, 24576, 1536, e4m3, e4m3, family::normal},
    {2, 4096, 32768, 512, e4m3, e4m3, family::finite},
    {2, 4096, 7168, 16384, e4m3, e4m3, family::normal},
    {2, 4096, 4096, 7168, e5m2, e4m3, family::normal},
    {2, 4096, 7168, 2048, e4m3, e5m2, family::spread},
    {2, 8192, 8192, 8192, e4m3, e4m3, family::normal},
    {2, 128, 7168, 16384, e4m3, e4m3, family::normal},
    {2, 64, 4096, 7168, e4m3, e4m3, family::cancelling},
};

/// The findings: for each, the first algorithm to which it applies and the
/// number of further ones.
class findings {
 public:
  void add(const std::string& what, const cublaslt_algorithm& by) {
    auto& f = found_[what];
    if (f.count++ == 0) f.first = by.text();
  }
  void append_to(std::vector<std::string>& notes,
                 const std::string& problem) const {
    for (const auto& [what, f] : found_) {
      const auto more = f.count > 1
                            ? " and " + std::to_string(f.count - 1) + " more"
                            : std::string();
      notes.push_back(problem + ", " + f.first + more + ": " + what);
    }
  }

 private:
  struct finding {
    std::string first;
    int count = 0;
  };
  std::map<std::string, finding> found_;
};

/// The recipe that the problem follows by this algorithm.
recipe recipe_of(const cublaslt_problem& p, const cublaslt_algorithm& by) {
  return peers::cublaslt_recipe(p, std::max(by.splits, 1));
}

/// Which recipe the last run of `c` follows if it is not `right`: ", but ...".
std::string explanation(cublaslt_case& c, const recipe& right) {
  for (const auto& other : peers::cublaslt_alternatives(right, c.problem().k)) {
    if (c.follows(other.value)) return ", but by " + other.what;
  }
  return "";
}

/// Holds the last run of `c`, by this algorithm, against its recipe. Returns
/// what was found.
std::string hold_run(cublaslt_case& c, const cublaslt_algorithm& by,
                     verdict& v) {
  const auto& p = c.problem();
  if (!peers::cublaslt_unknown(p, by).empty()) return "not known";
  const auto right = recipe_of(p, by);
  const auto t = c.compare(right);
  const auto recipe = with_splits(peers::cublaslt_recipe_name(p), right.splits);
  v.cases += c.outputs();
  v.add(t.sums);
  if (t.differing == 0) return "bit-equal to " + recipe;
  v.failures += t.differing;
  const auto found = "not " + recipe + explanation(c, right);
  if (v.first_failure.empty()) {
    v.first_failure =
        name_of(p) + ", " + by.text() + ", " + found + ": " + text_of(t, p.n);
  }
  return found;
}

/// Holds every algorithm for a problem.
void hold_all(const cublaslt_problem& p, family of, const effort& e,
              void* workspace, verdict& v) {
  // With any finite BF16 codes most sums would be NaN.
  const bool halves = p.scales == cublaslt_scales::none;
  if (halves && of == family::finite) of = family::normal;
  std::optional<cublaslt_case> made;
  std::vector<cublaslt_algorithm> all;
  try {
    made.emplace(p, of, e.seed, p.m);
    all = made->algorithms();
  } catch (const peers::cublaslt_error& refusal) {
    return v.notes.push_back(name_of(p) + ": " + refusal.what());
  }
  if (all.empty()) return v.notes.push_back(name_of(p) + ": not served");
  // Sorted, algorithms with equal splits share one result of the emulator.
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return x.splits < y.splits;
  });
  findings found;
  for (const auto& by : all) {
    try {
      made->run(by, workspace);
    } catch (const peers::cublaslt_error& refusal) {
      found.add(refusal.what(), by);
      continue;
    }
    found.add(hold_run(*made, by, v), by);
  }
  found.append_to(v.notes, name_of(p));
}

/// Memory that cuBLASLt may use in a call.
class cublaslt_workspace {
 public:
  void* data() const { return memory_.data(); }

 private:
  device_buffer<unsigned char> memory_{peers::cublaslt_gemm::workspace_bytes};
};

/// What `hold(workspace, verdict)` finds; skipped where there is no cuBLASLt.
template <class Hold>
verdict with_cublaslt(Hold hold) {
  verdict v;
  v.skipped = peers::cublaslt_absence();
  if (!v.skipped.empty()) return v;
  const cublaslt_workspace workspace;
  hold(workspace.data(), v);
  if (v.cases == 0) v.skipped = "cuBLASLt serves none of the problems";
  return v;
}

verdict hold_row(const peer_row& row, format output, const effort& e) {
  return with_cublaslt([&](void* workspace, verdict& v) {
    for (const auto& s : peer_shapes) {
      if (s.level > e.level) continue;
      hold_all(problem_of(row, s.m, s.n, s.k, s.a, s.b, output), s.of, e,
               workspace, v);
    }
  });
}

/// What many problems were: how many were served, in how many parts K was, and
/// whether their outputs tell recipes apart.
struct shape_tally {
  int asked = 0, served = 0, told = 0;
  std::map<std::string, int> by_recipe;

  std::string text() const {
    std::string all = std::to_string(served) + " of " + std::to_string(asked) +
                      " problems served, " + std::to_string(told) +
                      " whose outputs tell every other recipe apart";
    for (const auto& [recipe, count] : by_recipe) {
      all += ", " + std::to_string(count) + " by " + recipe;
    }
    return all;
  }
};

/// A problem, run by the algorithm that cuBLASLt would take for it.
struct first_run {
  std::unique_ptr<cublaslt_case> made;
  cublaslt_algorithm by;
  std::string refusal;  ///< if not empty, nothing was run
};

first_run run_first(const cublaslt_problem& p, std::uint64_t seed,
                    void* workspace) {
  first_run r;
  try {
    r.made =
        std::make_unique<cublaslt_case>(p, family::normal, seed, some_rows);
    const auto first = r.made->algorithms(1);
    if (first.empty()) {
      r.refusal = "not served";
      return r;
    }
    r.by = first[0];
    r.made->run(r.by, workspace);
  } catch (const peers::cublaslt_error& refusal) {
    r.refusal = refusal.what();
  }
  return r;
}

/// Whether the outputs tell the problem's recipe from every other one.
bool tells_recipe(cublaslt_case& c, const recipe& right) {
  const auto others = peers::cublaslt_alternatives(right, c.problem().k);
  return std::all_of(others.begin(), others.end(),
                     [&c](const auto& r) { return c.tells_apart(r.value); });
}

/// Holds the algorithm that cuBLASLt would take for a problem.
void hold_first(const cublaslt_problem& p, std::uint64_t seed, void* workspace,
                shape_tally& tally, verdict& v) {
  ++tally.asked;
  auto r = run_first(p, seed, workspace);
  if (!r.refusal.empty()) return;
  ++tally.served;
  ++tally.by_recipe[hold_run(*r.made, r.by, v) + ", algorithm " +
                    text(r.by.id) + " reduction " + text(r.by.reduction)];
  if (!peers::cublaslt_unknown(p, r.by).empty()) return;
  tally.told += tells_recipe(*r.made, recipe_of(p, r.by));
}

/// A number from `least` to `most`, small ones as often as large ones.
std::ptrdiff_t any_size(std::ptrdiff_t least, std::ptrdiff_t most,
                        counter_rng& rng) {
  std::ptrdiff_t top = least;
  int octaves = 0;
  for (; 2 * top <= most; top *= 2) ++octaves;
  const std::ptrdiff_t low =
      least << rng.below(static_cast<std::uint32_t>(octaves) + 1);
  const std::ptrdiff_t high = std::min(2 * low - 1, most);
  return low + static_cast<std::ptrdiff_t>(
                   rng.below(static_cast<std::uint32_t>(high - low + 1)));
}

/// M of any size, N and K multiples of 16 (N now and then not), K of one or
/// many scales, C added to every fourth.
cublaslt_problem draw_problem(const peer_row& row, counter_rng& rng) {
  const bool tiles = peers::granularity_of(row.scaling.scales, false).k == 128;
  const auto m = rng.one_in(8) ? 1 : any_size(1, 2048, rng);
  auto n = 16 * any_size(1, 256, rng);
  if (rng.one_in(16)) n += rng.between(1, 15);
  const bool whole = tiles && !rng.one_in(8);
  const auto k = rng.one_in(24) ? 128
                 : whole        ? 128 * any_size(1, 128, rng)
                                : 16 * any_size(1, 1024, rng);
  const format a = rng.one_in(4) ? e5m2 : e4m3;
  const format b = a == e4m3 && rng.one_in(4) ? e5m2 : e4m3;
  auto p = problem_of(row, m, n, k, a, b, fp32);
  p.adds = rng.one_in(4);
  return p;
}

verdict hold_random(const peer_row& row, const effort& e) {
  return with_cublaslt([&](void* workspace, verdict& v) {
    const std::uint64_t count = e.level >= 3 ? 17000 : e.level == 2 ? 1700 : 20;
    shape_tally tally;
    for (std::uint64_t i = 0; i < count; ++i) {
      counter_rng rng(e.seed, i);
      const auto p = draw_problem(row, rng);
      hold_first(p, rng.next(), workspace, tally, v);
      if (i % 64 == 0) hold_all(p, family::normal, e, workspace, v);
    }
    v.notes = {tally.text()};
  });
}

verdict hold_shapes(const peer_row& row, const std::vector<gemm_shape>& shapes,
                    const effort& e) {
  return with_cublaslt([&](void* workspace, verdict& v) {
    shape_tally tally;
    for (const auto& s : shapes) {
      hold_first(problem_of(row, s.m, s.n, s.k, e4m3, e4m3, fp32), e.seed,
                 workspace, tally, v);
    }
    v.notes = {tally.text()};
  });
}

}  // namespace

check_list peer_cublaslt_checks(const std::vector<gemm_shape>& shapes) {
  check_list all;
  const auto add = [&all](const std::string& name, auto run) {
    all.push_back(device_check("peer.cublaslt." + name, "G7 G10", "emulator",
                               std::move(run)));
  };
  for (const auto& row : peer_rows) {
    for (const format output : {bf16, fp32}) {
      add(row.name + ("." + zeroulp::name_of(output)),
          [row, output](const effort& e) { return hold_row(row, output, e); });
    }
    add(std::string("drawn.") + row.name,
        [row](const effort& e) { return hold_random(row, e); });
    if (shapes.empty()) continue;
    add(std::string("shapes.") + row.name,
        [row, shapes](const effort& e) { return hold_shapes(row, shapes, e); });
  }
  return all;
}

cublaslt_answer ask_cublaslt(const peers::cublaslt_problem& p,
                             std::uint64_t seed) {
  const cublaslt_workspace workspace;
  auto r = run_first(p, seed, workspace.data());
  if (!r.refusal.empty()) return {r.refusal};
  if (auto unknown = peers::cublaslt_unknown(p, r.by); !unknown.empty()) {
    return {std::move(unknown)};
  }
  const auto right = recipe_of(p, r.by);
  return {{},
          r.by,
          r.made->outputs(),
          r.made->compare(right).differing,
          tells_recipe(*r.made, right)};
}

}  // namespace zeroulp::conformance::device
