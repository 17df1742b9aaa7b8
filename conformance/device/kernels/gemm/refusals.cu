// Requests that cuda::gemm must refuse before it launches a kernel.

#include "conformance/device/kernels/gemm/trial.hpp"
#include "conformance/device/support/refusals.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::gemm_groups;
using cuda::gemm_partition;

constexpr std::ptrdiff_t m = 256, n = 384, k = 512;

/// A request that cuda::gemm would serve.
struct gemm_request {
  recipe r;
  gemm_partition groups{};
  cuda::operand a{e4m3, nowhere(), m, k, k, {words(), m, k / 128}};
  cuda::operand b{e4m3, nowhere(), n, k, k, {words(), n / 128, k / 128}};
  const_matrix c{};
  matrix d = codes(m, n);
};

gemm_request fprop() { return {deepgemm_1d2d_recipe}; }
gemm_request wgrad() {
  gemm_request q{deepgemm_1d1d_recipe};
  q.b.scales = {words(), n, k / 128};
  q.c = q.d;
  return q;
}
gemm_request control() {
  gemm_request q{cublaslt_tensorwise_recipe};
  q.a.scales = q.b.scales = {words(), 1, 1};
  return q;
}
const std::int32_t* table() {
  return reinterpret_cast<const std::int32_t*>(nowhere());
}
gemm_request grouped(gemm_groups kind) {
  gemm_request q = kind == gemm_groups::k_contiguous ? wgrad() : fprop();
  q.groups = {kind, 3, table()};
  const bool several_b = kind != gemm_groups::k_contiguous;
  const bool several_d = kind != gemm_groups::m_contiguous;
  if (several_b) q.b.rows *= 3, q.b.scales.rows *= 3;
  if (several_d) q.d.rows *= 3, q.c.rows *= 3;
  if (several_b && several_d) q.a.rows *= 3, q.a.scales.rows *= 3;
  return q;
}

/// Takes good requests and changes one thing in each.
class refusals {
 public:
  explicit refusals(verdict& v) : v_(v) {}

  template <class Change>
  void operator()(const char* what, const gemm_request& good,
                  Change change) const {
    gemm_request q = good;
    change(q);
    must_refuse(what, v_,
                [&] { cuda::gemm(q.r, q.groups, q.a, q.b, q.c, q.d); });
  }

 private:
  verdict& v_;
};

verdict refused_recipes(const effort&) {
  verdict v;
  const refusals no(v);
  using request = gemm_request&;
  no("an interval of 100", fprop(), [](request q) { q.r.interval = 100; });
  no("BF16's accumulator", fprop(),
     [](request q) { q.r.acc = hopper_half_f32; });
  no("a split K", fprop(), [](request q) { q.r.splits = 2; });
  no("no splits", fprop(), [](request q) { q.r.splits = 0; });
  no("output of fp16", fprop(), [](request q) { q.r.output = fp16; });
  no("output of e4m3", fprop(), [](request q) { q.r.output = e4m3; });
  no("an interval of 96", control(), [](request q) { q.r.interval = 96; });
  no("an interval of 48", control(), [](request q) { q.r.interval = 48; });
  no("a scale a row, added late", control(), [](request q) {
    q.r.a = {1, 0};
    q.a.scales = {words(), m, 1};
  });
  no("a promotion of scales every 64", fprop(),
     [](request q) { q.r.interval = 64; });
  no("promoted scales of the matrix", fprop(),
     [](request q) { q.r.a = per_tensor; });
  no("blocks of A", fprop(), [](request q) { q.r.a = block_128x128; });
  no("B of 1x256", fprop(), [](request q) { q.r.b = {1, 256}; });
  no("B of 64x128", fprop(), [](request q) { q.r.b = {64, 128}; });
  return v;
}

verdict refused_matrices(const effort&) {
  verdict v;
  const refusals no(v);
  using request = gemm_request&;
  no("A of e5m6", fprop(), [](request q) { q.a.element = e5m6; });
  no("B of bf16", fprop(), [](request q) { q.b.element = bf16; });
  no("null A", fprop(), [](request q) { q.a.codes = nullptr; });
  no("null B", fprop(), [](request q) { q.b.codes = nullptr; });
  no("A 8 bytes off", fprop(), [](request q) { q.a.codes = nowhere() + 8; });
  no("B 1 byte off", fprop(), [](request q) { q.b.codes = nowhere() + 1; });
  no("rows of A 8 bytes off", fprop(), [](request q) { q.a.stride = k + 8; });
  no("rows of B 1 byte off", fprop(), [](request q) { q.b.stride = k + 1; });
  no("a short stride", fprop(), [](request q) { q.a.stride = k - 16; });
  no("negative rows", fprop(), [](request q) { q.a.rows = -1; });
  no("negative columns", fprop(), [](request q) { q.a.cols = q.b.cols = -1; });
  no("another K", fprop(), [](request q) { q.b.cols = k - 128; });
  no("too many rows", fprop(), [](request q) {
    q.a.rows = q.a.scales.rows = q.d.rows = std::ptrdiff_t{1} << 31;
  });
  no("too long rows", fprop(), [](request q) {
    q.a.cols = q.b.cols = q.a.stride = q.b.stride = std::ptrdiff_t{1} << 31;
    q.a.scales.cols = q.b.scales.cols = q.a.cols / 128;
  });
  no("null D", fprop(), [](request q) { q.d.data = nullptr; });
  no("D 1 byte off", fprop(), [](request q) { q.d.data = nowhere() + 1; });
  no("D of FP32, 2 bytes off", wgrad(),
     [](request q) { q.d.data = nowhere() + 2; });
  no("a short stride of D", fprop(), [](request q) { q.d.stride = n - 1; });
  no("D of other rows", fprop(), [](request q) { q.d.rows = m + 1; });
  no("D of other columns", fprop(), [](request q) { q.d.cols = n - 1; });
  no("no C", wgrad(), [](request q) { q.c = {}; });
  no("null C", wgrad(), [](request q) { q.c.data = nullptr; });
  no("C 2 bytes off", wgrad(), [](request q) { q.c.data = nowhere() + 2; });
  no("C of other rows", wgrad(), [](request q) { q.c.rows = m - 1; });
  no("a short stride of C", wgrad(), [](request q) { q.c.stride = n - 1; });
  no("an address space of D", fprop(),
     [](request q) { q.d.stride = std::ptrdiff_t{1} << 58; });
  return v;
}

verdict refused_scales(const effort&) {
  verdict v;
  const refusals no(v);
  using request = gemm_request&;
  auto* const odd = reinterpret_cast<const std::uint32_t*>(nowhere() + 2);
  no("no scales of A", fprop(), [](request q) { q.a.scales = {}; });
  no("no scales of B", wgrad(), [](request q) { q.b.scales = {}; });
  no("scales of A, 2 bytes off", fprop(),
     [&](request q) { q.a.scales.data = odd; });
  no("scales of B, 2 bytes off", control(),
     [&](request q) { q.b.scales.data = odd; });
  no("fewer scales of A", fprop(), [](request q) { q.a.scales.rows = m - 1; });
  no("too few along K", fprop(), [](request q) { q.a.scales.cols = 3; });
  no("a scale a row for blocks", fprop(),
     [](request q) { q.b.scales.rows = n; });
  no("blocks for a scale a row", wgrad(),
     [](request q) { q.b.scales.rows = n / 128; });
  no("two scales of a matrix", control(),
     [](request q) { q.a.scales.rows = 2; });
  no("a negative stride", fprop(),
     [](request q) { q.a.scales.row_stride = -4; });
  no("a negative stride along K", fprop(),
     [](request q) { q.b.scales.col_stride = -1; });
  return v;
}

verdict refused_groups(const effort&) {
  verdict v;
  const refusals no(v);
  using request = gemm_request&;
  no("two of one", fprop(), [](request q) { q.groups.count = 2; });
  no("ranges of K of a control", control(), [](request q) {
    q.groups = {gemm_groups::k_contiguous, 1, table()};
  });
  for (const auto kind : {gemm_groups::m_contiguous, gemm_groups::m_masked,
                          gemm_groups::k_contiguous}) {
    const auto good = grouped(kind);
    no("another promotion", good,
       [](request q) { q.r.update = promotion::one_then_other; });
    no("no such kind", good,
       [](request q) { q.groups.kind = static_cast<gemm_groups>(4); });
    no("no table", good, [](request q) { q.groups.table = nullptr; });
    no("a table 2 bytes off", good, [](request q) {
      q.groups.table = reinterpret_cast<const std::int32_t*>(nowhere() + 2);
    });
    no("no groups", good, [](request q) { q.groups.count = 0; });
    no("negative groups", good, [](request q) { q.groups.count = -1; });
    no("65536 groups", good, [](request q) { q.groups.count = 65536; });
    no("D of other rows", good, [](request q) { ++q.d.rows; });
    if (kind == gemm_groups::k_contiguous) continue;
    no("B that no three share", good, [](request q) { ++q.b.rows; });
    no("the scales of one B", good, [](request q) { q.b.scales.rows /= 3; });
    no("B's own blocks", good, [](request q) {
      // 3 x 100 rows: 3 x 1 blocks, not ceil(300 / 128).
      q.b.rows = 300, q.d.cols = 100;
      q.b.scales.rows = 2;
    });
  }
  no("A that no three share", grouped(gemm_groups::m_masked),
     [](request q) { ++q.a.rows; });
  return v;
}

/// cuda::gemm must serve the good requests, so that each refusal above is due
/// to the one change. They have no columns, so that no kernel is launched.
verdict served(const effort&) {
  verdict v;
  const auto serve = [&](const char* what, gemm_request q) {
    q.b.rows = q.d.cols = q.c.cols = 0;
    q.b.scales.rows = q.r.b.mn == 0 ? 1 : 0;
    std::string heard;
    try {
      cuda::gemm(q.r, q.groups, q.a, q.b, q.c, q.d);
    } catch (const std::exception& e) {
      heard = e.what();
    }
    v.count(heard.empty(), [&] { return std::string(what) + ": " + heard; });
  };
  serve("Fprop", fprop());
  serve("Wgrad", wgrad());
  serve("a control", control());
  serve("rows", grouped(gemm_groups::m_contiguous));
  serve("first rows", grouped(gemm_groups::m_masked));
  serve("ranges of K", grouped(gemm_groups::k_contiguous));
  return v;
}

}  // namespace

check_list gemm_refusal_checks() {
  const auto check_of = [](const char* name, auto run) {
    return device_check(name, "G2 G13", "definition", run);
  };
  return {check_of("kernel.gemm.refusals.recipes", refused_recipes),
          check_of("kernel.gemm.refusals.matrices", refused_matrices),
          check_of("kernel.gemm.refusals.scales", refused_scales),
          check_of("kernel.gemm.refusals.groups", refused_groups),
          check_of("kernel.gemm.refusals.none", served)};
}

}  // namespace zeroulp::conformance::device
