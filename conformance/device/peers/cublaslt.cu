// cuBLASLt's GEMMs, by every algorithm that it offers, against the recipes that
// they are claimed to follow. The emulator computes the recipe; other checks
// compare the emulator with the core.

#include <map>
#include <optional>

#include "conformance/device/support/output_differences.hpp"
#include "conformance/device/support/peer_operand.hpp"
#include "conformance/peers/cublaslt.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using peers::cublaslt_scales;

/// A way to call cuBLASLt, and the recipe that it is claimed to follow.
struct peer_row {
  const char* name;
  const char* recipe;
  cublaslt_scales scales;
  bool fast;
};

constexpr peer_row peer_rows[] = {
    {"tensor.fast", "unpromoted", cublaslt_scales::matrix, true},
    {"tensor.precise", "cublaslt.tensorwise", cublaslt_scales::matrix, false},
    {"1x128_128x128", "cublaslt.1x128_128x128", cublaslt_scales::blocks, false},
    {"1x128_1x128", "cublaslt.1x128_1x128", cublaslt_scales::columns, false},
    // The same chain as `unpromoted`, in steps of 16 elements.
    {"bf16", "unpromoted", cublaslt_scales::none, false},
};

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

/// A problem on the device, and its result by the recipe.
class peer_problem {
 public:
  peer_problem(const peer_row& row, const peer_shape& s, format output,
               std::uint64_t seed)
      : scaled_(row.scales != cublaslt_scales::none),
        recipe_(recipe_of(row, output)),
        // With any finite BF16 codes most sums would be NaN.
        family_(!scaled_ && s.of == family::finite ? family::normal : s.of),
        a_(scaled_ ? s.a : bf16, s.m, s.k, recipe_.a, scaled_, side::a, family_,
           seed),
        b_(scaled_ ? s.b : bf16, s.n, s.k, recipe_.b, scaled_, side::b, family_,
           seed + 2),
        m_(s.m),
        n_(s.n),
        bytes_(output == fp32 ? 4 : 2),
        d_(outputs() * static_cast<std::size_t>(bytes_)),
        want_(outputs() * static_cast<std::size_t>(bytes_)),
        gemm_({s.m, s.n, s.k, a_.operand().element, b_.operand().element,
               output, row.scales, row.fast, false}) {}

  std::size_t outputs() const { return static_cast<std::size_t>(m_ * n_); }
  std::vector<peers::cublaslt_algorithm> algorithms() const {
    return gemm_.algorithms();
  }

  void run(const peers::cublaslt_algorithm& by, void* workspace) {
    require(cudaMemset(d_.data(), 0xa5,
                       outputs() * static_cast<std::size_t>(bytes_)));
    const auto& a = a_.operand();
    const auto& b = b_.operand();
    gemm_.run(by, {a.codes, a.scales.data, b.codes, b.scales.data, d_.data()},
              workspace, nullptr);
    finish_kernel();
  }

  /// Tallies the outputs of the last run that differ from the recipe with this
  /// number of splits.
  peers::output_tally compare(int splits) {
    if (splits != expected_) {
      recipe r = recipe_;
      r.splits = splits;
      cuda::emulate_gemm(r, a_.operand(), b_.operand(), {},
                         {want_.data(), m_, n_});
      finish_kernel();
      expected_ = splits;
    }
    output_differences differences;
    differences.add(d_.data(), bytes_, want_.data(), m_, n_);
    return differences.found();
  }

 private:
  static recipe recipe_of(const peer_row& row, format output) {
    recipe r = parse_recipe(row.recipe).value;
    if (row.scales == cublaslt_scales::none) r.acc = hopper_half_f32;
    r.output = output;
    return r;
  }

  bool scaled_;
  recipe recipe_;
  family family_;
  random_operand a_, b_;
  std::ptrdiff_t m_, n_;
  int bytes_;
  device_buffer<unsigned char> d_;
  device_buffer<unsigned char> want_;
  int expected_ = 0;
  peers::cublaslt_gemm gemm_;
};

/// The findings: for each, the first algorithm to which it applies and the
/// number of further ones.
class findings {
 public:
  void add(const std::string& what, const peers::cublaslt_algorithm& by) {
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

void hold(const peer_row& row, const peer_shape& s, format output,
          const effort& e, void* workspace, verdict& v) {
  const bool halves = row.scales == cublaslt_scales::none;
  const auto text = [](std::ptrdiff_t n) { return std::to_string(n); };
  const std::string problem =
      "cuBLASLt " + peers::cublaslt_version() + ", " + text(s.m) + "x" +
      text(s.n) + "x" + text(s.k) + " " + name_of(halves ? bf16 : s.a) + " " +
      name_of(halves ? bf16 : s.b) + " to " + name_of(output);
  std::optional<peer_problem> made;
  std::vector<peers::cublaslt_algorithm> all;
  try {
    made.emplace(row, s, output, e.seed);
    all = made->algorithms();
  } catch (const peers::cublaslt_error& refusal) {
    return v.notes.push_back(problem + ": " + refusal.what());
  }
  peer_problem& p = *made;
  if (all.empty()) return v.notes.push_back(problem + ": not served");
  // Sorted, algorithms with equal splits share one result of the emulator.
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return x.splits < y.splits;
  });
  findings found;
  for (const auto& by : all) {
    try {
      p.run(by, workspace);
    } catch (const peers::cublaslt_error& refusal) {
      found.add(refusal.what(), by);
      continue;
    }
    const int splits = std::max(by.splits, 1);
    const auto t = p.compare(splits);
    const std::string recipe =
        row.recipe +
        (splits == 1 ? std::string() : " with " + text(splits) + " splits");
    found.add((t.differing == 0 ? "bit-equal to " : "not ") + recipe, by);
    v.cases += p.outputs();
    v.add(t.sums);
    if (t.differing == 0) continue;
    v.failures += t.differing;
    if (!v.first_failure.empty()) continue;
    v.first_failure =
        problem + ", " + by.text() + ", by " + recipe + ": " + text_of(t, s.n);
  }
  found.append_to(v.notes, problem);
}

verdict hold_row(const peer_row& row, format output, const effort& e) {
  verdict v;
  v.skipped = peers::cublaslt_absence();
  if (!v.skipped.empty()) return v;
  const device_buffer<unsigned char> workspace(
      peers::cublaslt_gemm::workspace_bytes);
  for (const auto& s : peer_shapes) {
    if (s.level > e.level) continue;
    // cuBLASLt does not document the padding if the rows of scales are no
    // multiple of 4.
    const bool tiles = row.scales == cublaslt_scales::blocks ||
                       row.scales == cublaslt_scales::columns;
    if (tiles && s.m % 4 != 0) continue;
    hold(row, s, output, e, workspace.data(), v);
  }
  if (v.cases == 0) v.skipped = "cuBLASLt serves none of the problems";
  return v;
}

}  // namespace

check_list peer_cublaslt_checks() {
  check_list all;
  for (const auto& row : peer_rows) {
    for (const format output : {bf16, fp32}) {
      all.push_back(device_check(
          std::string("peer.cublaslt.") + row.name + "." + name_of(output),
          "G7 G10", "emulator",
          [row, output](const effort& e) { return hold_row(row, output, e); }));
    }
  }
  return all;
}

}  // namespace zeroulp::conformance::device
