// Attention by the fused kernels, for all widths of a head that have them:
// against the engine on short sequences, against the composed way on long ones.

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/device/model/mirror.hpp"
#include "conformance/device/model/model.hpp"
#include "cuda/model/attention.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::conformance::device {
namespace {

/// A matrix on the host. What a kernel writes may begin at the second column:
/// then rows are not aligned.
template <class T>
struct head_rows {
  std::ptrdiff_t rows, cols, shift;
  std::vector<T> codes;

  head_rows(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t first = 0)
      : rows(m),
        cols(n),
        shift(first),
        codes(static_cast<std::size_t>(m * (n + first))) {}
  matrix_view<T> all() { return {codes.data(), rows, cols + shift}; }
  matrix_view<T> view() { return all().block(0, shift, rows, cols); }
  matrix_view<const T> view() const {
    return matrix_view<const T>{codes.data(), rows, cols + shift}.block(
        0, shift, rows, cols);
  }
};
using code_rows = head_rows<std::uint16_t>;
using fp32_rows = head_rows<std::uint32_t>;

/// Operands of both passes; O' is made after the forward pass.
struct operands_of_heads {
  attention_shape shape;
  std::ptrdiff_t sequences;
  code_rows q, k, v, d_o;

  operands_of_heads(const attention_shape& s, std::ptrdiff_t count)
      : shape(s),
        sequences(count),
        q(tokens(), s.heads * s.depth),
        k(tokens(), q.cols),
        v(tokens(), s.heads * s.value_depth),
        d_o(tokens(), v.cols) {}
  std::ptrdiff_t tokens() const { return shape.length * sequences; }
  engine::attention_inputs inputs() const {
    return {q.view(), k.view(), v.view()};
  }
  std::string text() const {
    std::string all;
    for (const auto n : {sequences, shape.length, shape.heads, shape.depth,
                         shape.value_depth}) {
      all += std::to_string(n) + " ";
    }
    return all + "(sequences, length, heads, depth, value depth): ";
  }
};

struct results_of_heads {
  code_rows o, dq, dk, dv;
  fp32_rows largest, inverse;

  explicit results_of_heads(const operands_of_heads& x,
                            std::ptrdiff_t shift = 0)
      : o(x.tokens(), x.v.cols, shift),
        dq(x.tokens(), x.q.cols, shift),
        dk(x.tokens(), x.q.cols, shift),
        dv(x.tokens(), x.v.cols, shift),
        largest(x.tokens(), x.shape.heads),
        inverse(x.tokens(), x.shape.heads) {}
};

/// One of the two ways.
struct attention_way {
  decltype(&cuda::attention_forward) forward;
  decltype(&cuda::attention_backward) backward;
  decltype(&cuda::attention_work_bytes) bytes;
};
constexpr attention_way fused{cuda::attention_forward, cuda::attention_backward,
                              cuda::attention_work_bytes};
constexpr attention_way composed{cuda::composed_attention_forward,
                                 cuda::composed_attention_backward,
                                 cuda::composed_attention_work_bytes};

/// The columns that a kernel gets of a mirror with a shift.
template <class T>
matrix_view<T> written_by_kernel(const mirror<T>& x, const head_rows<T>& host) {
  return x.view().block(0, host.shift, host.rows, host.cols);
}

void run_forward(const attention_way& by, const operands_of_heads& x,
                 results_of_heads& out, std::ptrdiff_t at_once) {
  const mirror q(x.q.view()), k(x.k.view()), v(x.v.view());
  mirror o(out.o.all());
  mirror largest(out.largest.all()), inverse(out.inverse.all());
  const room<std::byte> work(
      static_cast<std::ptrdiff_t>(by.bytes(x.shape, at_once)));
  by.forward(x.shape, {q.view(), k.view(), v.view()},
             written_by_kernel(o, out.o), largest.view(), inverse.view(),
             work.span(), nullptr);
  finish_kernel();
  o.download();
  largest.download();
  inverse.download();
}

/// m and r are those in `out`.
void run_backward(const attention_way& by, const operands_of_heads& x,
                  const fp32_rows& kept, results_of_heads& out,
                  std::ptrdiff_t at_once) {
  const mirror q(x.q.view()), k(x.k.view()), v(x.v.view()), d_o(x.d_o.view());
  const mirror o(kept.view());
  const mirror largest(out.largest.all()), inverse(out.inverse.all());
  mirror dq(out.dq.all()), dk(out.dk.all()), dv(out.dv.all());
  const room<std::byte> work(
      static_cast<std::ptrdiff_t>(by.bytes(x.shape, at_once)));
  by.backward(x.shape, {q.view(), k.view(), v.view()},
              {o.view(), largest.view(), inverse.view()}, d_o.view(),
              {written_by_kernel(dq, out.dq), written_by_kernel(dk, out.dk),
               written_by_kernel(dv, out.dv)},
              work.span(), nullptr);
  finish_kernel();
  dq.download();
  dk.download();
  dv.download();
}

/// A row is a case.
template <class T>
void hold_rows(verdict& v, const operands_of_heads& x, const char* what,
               const head_rows<T>& got, const head_rows<T>& want) {
  const auto a = got.view(), b = want.view();
  for (std::ptrdiff_t i = 0; i < a.rows; ++i) {
    std::ptrdiff_t j = 0;
    while (j < a.cols && a(i, j) == b(i, j)) ++j;
    v.count(j == a.cols, [&] {
      return x.text() + what + " at " + std::to_string(i) + ", " +
             std::to_string(j) + ": " + std::to_string(a(i, j)) + ", not " +
             std::to_string(b(i, j));
    });
  }
}

void hold_forward_pass(verdict& v, const operands_of_heads& x,
                       const results_of_heads& got,
                       const results_of_heads& want) {
  hold_rows(v, x, "largest", got.largest, want.largest);
  hold_rows(v, x, "inverse", got.inverse, want.inverse);
  hold_rows(v, x, "O", got.o, want.o);
}
void hold_backward_pass(verdict& v, const operands_of_heads& x,
                        const results_of_heads& got,
                        const results_of_heads& want) {
  hold_rows(v, x, "dQ", got.dq, want.dq);
  hold_rows(v, x, "dK", got.dk, want.dk);
  hold_rows(v, x, "dV", got.dv, want.dv);
}

/// O' from O; `finer`: with bits that BF16 has not.
fp32_rows kept_output(const code_rows& o, bool finer, counter_rng& rng) {
  fp32_rows kept(o.rows, o.cols);
  const auto to = kept.all();
  for (std::ptrdiff_t i = 0; i < o.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < o.cols; ++j) {
      to(i, j) = std::uint32_t{o.view()(i, j)} << 16 |
                 (finer ? rng.next32() & 0xffff : 0);
    }
  }
  return kept;
}

// Short sequences.

void fill_with(code_rows& x, const grid& g) {
  for (std::size_t i = 0; i < x.codes.size(); ++i) {
    x.codes[i] = static_cast<std::uint16_t>(g.words[i]);
  }
}
void fill_with_one_of(code_rows& x, std::initializer_list<std::uint16_t> all,
                      counter_rng& rng) {
  for (auto& code : x.codes) {
    code = all.begin()[rng.below(static_cast<std::uint32_t>(all.size()))];
  }
}
/// The first and last tokens, where tiles begin and end, and any.
void strew_in(code_rows& x, counter_rng& rng) {
  static constexpr std::uint16_t specials[] = {0x7fff, 0xffff, 0x7f80, 0xff80,
                                               0x8000, 0x0001, 0x7f7f};
  for (int i = rng.between(1, 3); i > 0; --i) {
    const std::ptrdiff_t edges[] = {0, 63, 64, 127, 128, x.rows - 1};
    std::ptrdiff_t row = edges[rng.below(6)];
    if (rng.one_in(2) || row >= x.rows) {
      row = rng.between(0, static_cast<int>(x.rows) - 1);
    }
    const auto column = rng.between(0, static_cast<int>(x.cols) - 1);
    x.all()(row, column) = specials[rng.below(std::size(specials))];
  }
}
/// Numbers of 2^exponent times the magnitude.
void enlarge(code_rows& x, int exponent) {
  for (auto& code : x.codes) {
    if ((code & 0x7f80) != 0) {
      code = static_cast<std::uint16_t>(code + (exponent << 7));
    }
  }
}

enum class contents : std::uint8_t {
  normal,
  any,       ///< any family in each operand
  specials,  ///< strewn into one or two operands
  huge,      ///< scores beyond FP32
  few,       ///< of few values, zeros of both signs among them
  equal,     ///< all scores
};
constexpr int content_kinds = 6;

void fill(operands_of_heads& x, contents kind, counter_rng& rng) {
  code_rows* const all[] = {&x.q, &x.k, &x.v, &x.d_o};
  for (code_rows* const m : all) {
    fill_with(*m, kind == contents::any
                      ? any_numbers(bf16, m->rows, m->cols, rng)
                      : bell_shaped(bf16, m->rows, m->cols, 0, rng));
  }
  switch (kind) {
    case contents::specials:
      strew_in(*all[rng.below(4)], rng);
      strew_in(*all[rng.below(4)], rng);
      break;
    case contents::huge:
      enlarge(x.q, 62);
      enlarge(x.k, rng.between(58, 63));
      break;
    case contents::few:
      for (code_rows* const m : all) {
        fill_with_one_of(*m, {0, 0x8000, 0x3f80, 0xbf80}, rng);
      }
      break;
    case contents::equal:
      fill_with_one_of(x.q, {0x3f80}, rng);
      fill_with_one_of(x.k, {0x3f80}, rng);
      break;
    default:
      break;
  }
}

struct head_widths {
  std::ptrdiff_t depth, value_depth;
};
constexpr head_widths fused_widths[] = {{192, 128}, {128, 128}, {64, 64}};

void hold_short(verdict& v, std::uint64_t n, counter_rng& rng) {
  static constexpr int lengths[] = {1,   200, 64,  65,  63,  128,
                                    129, 127, 192, 193, 191, 2};
  const head_widths& w = fused_widths[n % std::size(fused_widths)];
  const int length =
      n < 36 ? lengths[n / 3 % std::size(lengths)] : rng.between(1, 330);
  attention_shape s{length, rng.between(1, 3), w.depth, w.value_depth, 0};
  s.scale = rng.one_in(4) ? any_factor(rng) : attention_scale(w.depth);
  if (rng.one_in(16)) s.scale = 1 + rng.below(0x00800000);
  std::ptrdiff_t sequences = rng.between(1, 3);
  const auto kind = static_cast<contents>(rng.below(content_kinds));
  // The engine leaves products with NaN or Inf to the core, which takes long:
  // where the length is drawn, they have two heads or sequences, or one.
  const bool slow = kind == contents::any || kind == contents::specials ||
                    kind == contents::huge;
  if (n >= 36 && slow) {
    const std::ptrdiff_t most = length > 200 ? 1 : 2;
    s.heads = std::min(s.heads, most);
    sequences = std::min(sequences, most / s.heads);
  }
  operands_of_heads x(s, sequences);
  fill(x, kind, rng);

  results_of_heads want(x);
  engine::attention_forward(s, x.inputs(), want.o.view(), want.largest.view(),
                            want.inverse.view());
  const fp32_rows kept = kept_output(want.o, rng.one_in(2), rng);
  engine::attention_backward(
      s, x.inputs(), {kept.view(), want.largest.view(), want.inverse.view()},
      x.d_o.view(), {want.dq.view(), want.dk.view(), want.dv.view()});

  results_of_heads got(x, rng.one_in(4) ? 1 : 0);
  const std::ptrdiff_t at_once = rng.one_in(2) ? 1 : x.sequences;
  run_forward(fused, x, got, at_once);
  hold_forward_pass(v, x, got, want);
  got.largest = want.largest;
  got.inverse = want.inverse;
  run_backward(fused, x, kept, got, at_once);
  hold_backward_pass(v, x, got, want);
}

/// Forward, with a value that is no number among the last 64 keys of a tile of
/// 128: the queries beside the first 64 take none of them, not even times +0.
void hold_later_values(verdict& v, const head_widths& w, counter_rng& rng) {
  const int tile = 128 * rng.between(0, 1);
  const int key = tile + rng.between(64, 127);
  const attention_shape s{rng.between(key + 1, tile + 140), 1, w.depth,
                          w.value_depth, attention_scale(w.depth)};
  operands_of_heads x(s, 1);
  fill(x, contents::normal, rng);
  x.v.all()(key, rng.between(0, static_cast<int>(x.v.cols) - 1)) =
      rng.one_in(2) ? 0x7fff : 0xff80;
  results_of_heads want(x), got(x);
  engine::attention_forward(s, x.inputs(), want.o.view(), want.largest.view(),
                            want.inverse.view());
  run_forward(fused, x, got, 1);
  hold_forward_pass(v, x, got, want);
}

// Long sequences.

/// Magnitudes of 2^-7 to 2.
void fill_evenly(code_rows& x, counter_rng& rng) {
  for (auto& code : x.codes) {
    const std::uint32_t word = rng.next32();
    code = static_cast<std::uint16_t>((word & 0x807f) | (120 + (word >> 16 & 7))
                                                            << 7);
  }
}

void hold_long(verdict& v, const attention_shape& s, std::ptrdiff_t sequences,
               counter_rng& rng) {
  operands_of_heads x(s, sequences);
  for (code_rows* const m : {&x.q, &x.k, &x.v, &x.d_o}) fill_evenly(*m, rng);
  results_of_heads want(x), got(x);
  run_forward(composed, x, want, 1);
  run_forward(fused, x, got, sequences);
  hold_forward_pass(v, x, got, want);
  const fp32_rows kept = kept_output(want.o, true, rng);
  run_backward(composed, x, kept, want, 1);
  got.largest = want.largest;
  got.inverse = want.inverse;
  run_backward(fused, x, kept, got, sequences);
  hold_backward_pass(v, x, got, want);
}

verdict fused_attention(const effort& e) {
  verdict v = for_separate_cases(e, case_count(e, 36),
                                 [](counter_rng& rng, auto n, verdict& part) {
                                   hold_short(part, n, rng);
                                 });
  counter_rng rng(e.seed, ~std::uint64_t{0});
  for (const head_widths& w : fused_widths) hold_later_values(v, w, rng);
  struct long_case {
    int length, heads, widths, sequences;
  };
  static constexpr long_case all[] = {{330, 2, 0, 1},
                                      {1024, 16, 0, 2},
                                      {1000, 16, 0, 1},
                                      {777, 16, 1, 2},
                                      {1024, 16, 2, 2}};
  effort longer = e;
  longer.seed = ~e.seed;
  v += for_separate_cases(longer, e.level > 0 ? std::size(all) : 1,
                          [](counter_rng& source, auto n, verdict& part) {
                            const long_case& c = all[n];
                            const head_widths& w = fused_widths[c.widths];
                            hold_long(part,
                                      {c.length, c.heads, w.depth,
                                       w.value_depth, attention_scale(w.depth)},
                                      c.sequences, source);
                          });
  return v;
}

}  // namespace

check_list kernel_model_attention_checks() {
  return {device_check("kernel.model.AttentionOfWidths", "N5 N6 N7",
                       "the engine, products and kernels between them",
                       fused_attention)};
}

}  // namespace zeroulp::conformance::device
