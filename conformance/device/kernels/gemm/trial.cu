// Draws GEMM trials, runs them on the GPU and compares them with the engine.

#include <optional>

#include "conformance/device/kernels/gemm/trial.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::gemm_groups;

/// Repeated, NaN in every format here.
constexpr unsigned char nan_byte = 0xff;

/// A copy in device memory with NaN around it.
struct placed_copy : guarded_matrix {
  placed_copy(codes_in x, int bytes, margins at)
      : guarded_matrix(x.rows, x.cols, bytes, at, nan_byte) {
    upload(x);
  }
};

/// A copy of scales, row-major or column-major.
class placed_scales {
 public:
  placed_scales(const word_matrix& s, counter_rng& rng)
      : turned_(rng.one_in(2)),
        there_(s.rows > 0),
        words_(turned_ ? s.view().transposed() : s.view(), 4,
               {rng.between(0, 3), rng.between(0, 3)}) {}

  matrix_view<const std::uint32_t> view() const {
    if (!there_) return {};
    const auto v = words_.word_view();
    return turned_ ? v.transposed() : v;
  }

 private:
  bool turned_, there_;
  placed_copy words_;
};

/// Draws margins with which rows start on multiples of 16 bytes.
margins draw_operand_margins(std::ptrdiff_t cols, counter_rng& rng) {
  return {16 * rng.between(0, 2),
          static_cast<int>(-cols & 15) + 16 * rng.between(0, 2)};
}

/// Draws such margins for half of the outputs, any margins for the others.
margins draw_output_margins(std::ptrdiff_t cols, int bytes, counter_rng& rng) {
  const int each = 16 / bytes;
  if (rng.one_in(2)) {
    return {each * rng.between(0, 2),
            static_cast<int>(-cols & (each - 1)) + each * rng.between(0, 2)};
  }
  return {rng.between(0, 3), rng.between(0, 5)};
}

word_matrix row_of(const std::vector<std::int32_t>& table) {
  word_matrix row(1, static_cast<std::ptrdiff_t>(table.size()));
  row.words.assign(table.begin(), table.end());
  return row;
}

/// The inputs of a call, placed at random in device memory.
class placed_trial {
 public:
  placed_trial(const gemm_trial& t, counter_rng& rng)
      : t_(t),
        a_(t.a.view(), 1, draw_operand_margins(t.shape.k, rng)),
        b_(t.b.view(), 1, draw_operand_margins(t.shape.k, rng)),
        sa_(t.sa, rng),
        sb_(t.sb, rng),
        c_(t.c.view(), 4, draw_output_margins(t.shape.n, 4, rng)),
        table_(row_of(t.table).view(), 4, {rng.between(0, 3), 0}) {}

  void launch(const guarded_matrix& d) const {
    const auto operand = [](format f, const guarded_matrix& x,
                            const placed_scales& s) {
      const auto v = x.view();
      return cuda::operand{f, v.data, v.rows, v.cols, v.stride, s.view()};
    };
    const auto* entry = reinterpret_cast<const std::int32_t*>(table_.words());
    cuda::gemm(
        t_.r,
        {t_.shape.kind, t_.shape.count, t_.table.empty() ? nullptr : entry},
        operand(t_.fa, a_, sa_), operand(t_.fb, b_, sb_),
        t_.c_is_d ? d.view() : c_.view(), d.view());
  }

 private:
  const gemm_trial& t_;
  placed_copy a_, b_;
  placed_scales sa_, sb_;
  placed_copy c_, table_;
};

/// Returns D after one call, or after a second one, `next`.
word_matrix run_once(const gemm_trial& t, const gemm_trial* next,
                     counter_rng& rng) {
  const int bytes = t.r.output == fp32 ? 4 : 2;
  const placed_trial first(t, rng);
  std::optional<placed_trial> second;
  if (next != nullptr) second.emplace(*next, rng);
  placed_copy d(t.start().view(), bytes,
                draw_output_margins(t.shape.n, bytes, rng));
  first.launch(d);
  if (second) second->launch(d);
  finish_kernel();
  word_matrix out(t.start().rows, t.start().cols);
  d.download(out.view());
  return out;
}

word_matrix compute(const gemm_trial& t, const gemm_product& p) {
  static const implementation engine = engine_implementation();
  const std::ptrdiff_t n = t.shape.n, length = p.k_end - p.k_begin;
  word_matrix out(p.rows, n);
  if (p.is_spoiled) {
    out.words.assign(out.words.size(), t.r.output == fp32 ? fp32_nan : 0x7fff);
    return out;
  }
  if (p.rows == 0 || n == 0) return out;
  const auto operand = [&](format f, const word_matrix& x, const word_matrix& s,
                           granularity by, std::ptrdiff_t row,
                           std::ptrdiff_t rows, std::ptrdiff_t first_scale) {
    gemm_operand<std::uint32_t> o{f,
                                  x.view().block(row, p.k_begin, rows, length)};
    if (s.rows > 0) {
      o.scales =
          s.view().block(first_scale, by.k == 0 ? 0 : p.k_begin / by.k,
                         scale_count(rows, by.mn), scale_count(length, by.k));
    }
    return o;
  };
  engine.gemm(t.r,
              operand(t.fa, t.a, t.sa, t.r.a, p.a_row, p.rows, p.first_a_scale),
              operand(t.fb, t.b, t.sb, t.r.b, p.b_row, n, p.first_b_scale),
              t.c.view().block(p.row, 0, p.rows, n), out.view());
  return out;
}

const char* name_of(gemm_groups kind) {
  constexpr const char* names[] = {"", " by rows", " by first rows",
                                   " by ranges of K"};
  return names[static_cast<int>(kind)];
}

}  // namespace

std::vector<gemm_product> products_of(const recipe& r, const trial_shape& s,
                                      const std::vector<std::int32_t>& table) {
  std::vector<gemm_product> all;
  for (std::ptrdiff_t g = 0; g < s.count; ++g) {
    const auto entry = [&](std::ptrdiff_t i) -> std::ptrdiff_t {
      return table[static_cast<std::size_t>(i)];
    };
    gemm_product p{0, s.m, 0, 0, 0, 0, 0, s.k, false};
    if (s.has_several_b()) {
      p.b_row = g * s.n;
      p.first_b_scale = g * scale_count(s.n, r.b.mn);
    }
    if (s.kind == gemm_groups::m_masked) {
      p.row = p.a_row = g * s.m;
      p.rows = std::min(std::max<std::ptrdiff_t>(entry(g), 0), s.m);
      p.first_a_scale = g * scale_count(s.m, r.a.mn);
    } else if (s.kind == gemm_groups::m_contiguous) {
      const std::ptrdiff_t begin = entry(g), end = entry(g + 1);
      const bool is_range = begin >= 0 && begin <= end && end <= s.m;
      p.row = p.a_row = is_range ? begin : 0;
      p.rows = is_range ? end - begin : 0;
      p.first_a_scale = r.a.mn == 0 ? 0 : p.a_row / r.a.mn;
    } else if (s.kind == gemm_groups::k_contiguous) {
      const std::ptrdiff_t begin = entry(g), end = entry(g + 1);
      const auto is_edge = [&](std::ptrdiff_t at) {
        return at % 128 == 0 || at == s.k;
      };
      p.row = g * s.m;
      p.is_spoiled = begin < 0 || begin > end || end > s.k || !is_edge(begin) ||
                     !is_edge(end);
      p.k_begin = p.is_spoiled ? 0 : begin;
      p.k_end = p.is_spoiled ? 0 : end;
    }
    all.push_back(p);
  }
  return all;
}

std::string gemm_trial::name() const {
  std::string all = std::to_string(shape.m) + " x " + std::to_string(shape.n) +
                    " x " + std::to_string(shape.k) + " " +
                    zeroulp::name_of(fa) + " " + zeroulp::name_of(fb) + " to " +
                    zeroulp::name_of(r.output) + ", update " +
                    std::to_string(static_cast<int>(r.update)) + ", interval " +
                    std::to_string(r.interval) + ", B " +
                    std::to_string(r.b.mn) + "x" + std::to_string(r.b.k);
  if (r.end == epilogue::accumulate) all += c_is_d ? ", C is D" : ", C";
  if (shape.kind == gemm_groups::none) return all;
  all += ", " + std::to_string(shape.count) + name_of(shape.kind) + ":";
  for (const auto entry : table) all += " " + std::to_string(entry);
  return all;
}

recipe draw_served_recipe(counter_rng& rng) {
  constexpr int intervals[] = {0, 32, 64, 128, 256, 1024};
  recipe r{hopper_fp8_f32,  128, static_cast<promotion>(rng.below(3)),
           tile_1x128,      {},  1,
           epilogue::store, fp32};
  r.b = rng.one_in(2) ? tile_1x128 : block_128x128;
  if (r.update == promotion::add) {
    r.a = r.b = per_tensor;
    r.interval = intervals[rng.below(std::size(intervals))];
  }
  if (rng.one_in(3)) r.end = epilogue::accumulate;
  if (rng.one_in(2)) r.output = bf16;
  return r;
}

gemm_trial make_trial(const recipe& r, const trial_shape& s, counter_rng& rng) {
  gemm_trial t;
  t.r = r;
  t.fa = rng.one_in(3) ? e5m2 : e4m3;
  t.fb = rng.one_in(3) ? e5m2 : e4m3;
  t.shape = s;
  auto codes = static_cast<code_family>(rng.below(code_families));
  // The engine is slow on NaN and Inf.
  const bool is_large = s.m * s.n * s.k > 1 << 20;
  if (codes == code_family::special && is_large) codes = code_family::normal;
  const auto scales = static_cast<scale_family>(rng.below(scale_families));
  const auto operand = [&](format f, std::ptrdiff_t rows) {
    word_matrix x(rows, s.k);
    for (auto& word : x.words) word = make_code(f, codes, rng);
    return x;
  };
  const auto scales_of = [&](granularity by, std::ptrdiff_t matrices,
                             std::ptrdiff_t rows) {
    // Kernels need scales if they change along K.
    if (by.k == 0 && (scales == scale_family::none || rng.one_in(6))) {
      return word_matrix(0, 0);
    }
    word_matrix x(matrices * scale_count(rows, by.mn), scale_count(s.k, by.k));
    for (auto& word : x.words) word = make_scale_bits(scales, rng);
    return x;
  };
  t.a = operand(t.fa, s.a_rows());
  t.b = operand(t.fb, s.b_rows());
  t.sa = scales_of(r.a, s.has_several_a() ? s.count : 1, s.m);
  t.sb = scales_of(r.b, s.has_several_b() ? s.count : 1, s.n);
  t.c = t.before = word_matrix(s.d_rows(), s.n);
  for (auto& word : t.c.words) {
    const bool any = codes == code_family::special && rng.one_in(3);
    const std::uint32_t near = (115 + rng.below(20)) << 23;
    word = any ? rng.next32() : near | (rng.next32() & 0x807fffff);
  }
  for (auto& word : t.before.words)
    word = r.output == fp32 ? 0xdeadbeef : 0xdead;
  t.c_is_d = r.output == fp32 && r.end == epilogue::accumulate && rng.one_in(2);
  return t;
}

word_matrix run_gemm(const gemm_trial& t, counter_rng& rng,
                     const gemm_trial* next) {
  auto first = run_once(t, next, rng);
  const auto second = run_once(t, next, rng);
  if (!t.may_race && first.words != second.words) {
    throw std::runtime_error("two runs of one GEMM differ: " + t.name());
  }
  return first;
}

void hold_gemm(const gemm_trial& t, counter_rng& rng, verdict& v) {
  const auto got = run_gemm(t, rng);
  const auto products = products_of(t.r, t.shape, t.table);
  std::vector<word_matrix> right;
  for (const auto& p : products) right.push_back(compute(t, p));
  for (std::ptrdiff_t i = 0; i < got.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < got.cols; ++j) {
      const std::uint32_t x = got.view()(i, j);
      std::uint32_t want = t.start().view()(i, j);
      bool held = false, covered = false;
      for (std::size_t g = 0; g < products.size() && !held; ++g) {
        const std::ptrdiff_t row = i - products[g].row;
        if (row < 0 || row >= products[g].rows) continue;
        want = right[g].view()(row, j), covered = true;
        held = x == want;
      }
      v.count(held || (!covered && x == want), [&] {
        char text[80];
        std::snprintf(text, sizeof text, ": D(%td, %td) is %08x, not %08x", i,
                      j, x, want);
        return t.name() + text;
      });
    }
  }
}

std::ptrdiff_t draw_length(std::ptrdiff_t most, counter_rng& rng) {
  constexpr int edges[] = {1,   2,   7,   8,   15,  16,  17,  31,
                           32,  33,  63,  64,  65,  127, 128, 129,
                           191, 192, 193, 255, 256, 257, 384, 385};
  const auto any = rng.between(1, static_cast<int>(most));
  const auto edge = edges[rng.below(std::size(edges))];
  return rng.one_in(3) || edge > most ? any : edge;
}

}  // namespace zeroulp::conformance::device
