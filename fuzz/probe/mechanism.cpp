// What a mechanism makes of an instruction's operands.

#include "fuzz/probe/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "zeroulp/core/view.hpp"

namespace zeroulp::fuzz {
namespace {

bool is_subnormal(format f, std::uint64_t code) {
  const std::uint64_t magnitude = code & f.magnitude_mask();
  return magnitude != 0 && magnitude >> f.man_bits == 0;
}

/// An operand as the unit sees it. A zero keeps the place of its format's
/// smallest exponent.
unpacked operand(format from, std::uint64_t code, format as, bool flushes) {
  if (flushes && is_subnormal(from, code)) code &= from.sign_mask();
  const unpacked x = decode(from, code);
  if (as == from || !x.is_finite()) return x;
  return decode(as, encode(as, x, {}, cuda_nosat));
}

/// The products of one internal step that are not zero.
struct products {
  std::array<unpacked, longest_instruction> a;
  std::array<unpacked, longest_instruction> b;
  int count = 0;
  /// Of the steps so far, the least of their largest places.
  int lowest_place = max_length;
  bool notes_places = false;
  int zeros_place = no_floor;  ///< the largest place of a zero product
  bool all_negative = true;    ///< every product, zeros too, is negative

  void add(const mechanism& m, std::uint64_t a_code, std::uint64_t b_code) {
    // Most products of an experiment are +0 * +0.
    if (a_code == 0 && b_code == 0 && !m.zeros_align) {
      all_negative = false;
      return;
    }
    const unpacked x = operand(m.a, a_code, m.operand_a, m.flushes_operands);
    const unpacked y = operand(m.b, b_code, m.operand_b, m.flushes_operands);
    if (x.negative == y.negative) all_negative = false;
    if (x.is_finite() && y.is_finite() && (x.is_zero() || y.is_zero())) {
      zeros_place = std::max(zeros_place, place_of_zero(m, x, y));
      return;
    }
    a[static_cast<std::size_t>(count)] = x;
    b[static_cast<std::size_t>(count++)] = y;
  }

 private:
  static int place_of_zero(const mechanism& m, const unpacked& x,
                           const unpacked& y) {
    const auto exponent = [](format f, const unpacked& value) {
      return value.is_zero() ? f.min_exponent() : value.exponent + f.man_bits;
    };
    return exponent(m.operand_a, x) + exponent(m.operand_b, y);
  }
};

/// An instruction's operands, and what of them is not zero.
struct operands {
  const step_case& s;
  const std::vector<int>& used;
};

/// Those of one step. Of +0 * +0 one is as good as all.
void take_products(const mechanism& m, const operands& x, int step,
                   products& all) {
  all.count = 0;
  all.zeros_place = no_floor;
  all.all_negative = true;
  const auto add = [&](int k) {
    if (m.order.steps > 1 && m.order.step_of(k) != step) return;
    const auto i = static_cast<std::size_t>(k);
    all.add(m, x.s.a[i], x.s.b[i]);
  };
  if (m.zeros_align || x.used.empty()) {
    for (int k = 0; k < x.s.count; ++k) add(k);
    return;
  }
  for (const int k : x.used) add(k);
  // It matters to zeros alone, which are then all of a step's products.
  if (static_cast<int>(x.used.size()) < x.s.count) all.all_negative = false;
}

std::uint64_t finish(const mechanism& m, const products& x, std::uint64_t c,
                     std::uint64_t d) {
  const format f = m.acc.stored;
  if (m.saturates && (d & f.magnitude_mask()) == f.infinity_code() &&
      !detail::find_specials(x.a.data(), x.b.data(), x.count, decode(f, c))
           .any()) {
    const auto largest = encode(m.acc.output, decode(f, d), {}, cuda_satfinite);
    return encode(f, decode(m.acc.output, largest), {}, cuda_nosat);
  }
  if (m.flushes_results && is_subnormal(f, d)) return 0;
  if (m.negative_zero && d == 0 && x.count == 0 && x.all_negative &&
      c == f.sign_mask()) {
    return c;
  }
  return d;
}

void note_place(const path& p, products& x, std::uint64_t c) {
  int largest = no_floor;
  const unpacked stored = decode(p.acc.stored, c);
  const unpacked term = p.acc.c == addend::aligned ? stored : unpacked{};
  detail::for_each_term(
      p, x.a.data(), x.b.data(), x.count, term,
      [&](const detail::term& t) { largest = std::max(largest, t.place); });
  // Nothing but zeros: no floor matters.
  if (largest != no_floor) x.lowest_place = std::min(x.lowest_place, largest);
}

/// One internal step; `c` is the result so far.
std::uint64_t take_step(const mechanism& m, const operands& from, int step,
                        std::uint64_t c, products& x) {
  take_products(m, from, step, x);
  path p{m.operand_a, m.operand_b, m.acc};
  p.acc.c = m.joins == joins::every_step ? addend::last : addend::aligned;
  if (m.zeros_align) {
    int floor = std::max<int>(p.acc.exponent_floor, x.zeros_place);
    const format f = m.acc.stored;
    if (decode(f, c).is_zero()) floor = std::max(floor, f.min_exponent());
    p.acc.exponent_floor = static_cast<std::int16_t>(floor);
  }
  if (x.notes_places) note_place(p, x, c);
  return finish(m, x, c,
                detail::accumulate(p, x.a.data(), x.b.data(), x.count, c));
}

}  // namespace

mechanism mechanism_of(const path& p, int length) {
  mechanism m{.a = p.a,
              .b = p.b,
              .length = length,
              .order = {std::max(1, p.acc.length > 0 ? p.acc.length : length)},
              .acc = p.acc,
              .operand_a = p.a,
              .operand_b = p.b,
              .nan = nan_code(p.acc.stored, false, cuda_nosat)};
  m.order.steps = static_cast<int>(ceil_div(length, m.order.chunk));
  if (p.acc.c == addend::last) m.joins = joins::every_step;
  if (p.lowering != lowering::direct) {
    m.order = {2, 2, false};
    m.joins =
        p.lowering == lowering::hmma_chained ? joins::the_end : joins::sums;
    m.operand_a = m.operand_b = fp16;
  }
  m.acc.length = 0;
  m.acc.c = addend::aligned;
  return m;
}

std::vector<int> used_products(const step_case& s) {
  std::vector<int> used;
  for (int k = 0; k < s.count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    if (s.a[i] != 0 || s.b[i] != 0) used.push_back(k);
  }
  return used;
}

std::uint64_t evaluate(const mechanism& m, const step_case& s) {
  return evaluate(m, s, used_products(s));
}

namespace {

std::uint64_t run(const mechanism& m, const operands& x, products& room) {
  const step_case& s = x.s;
  const format f = m.acc.stored;
  const std::uint64_t c =
      m.flushes_c && is_subnormal(f, s.c) ? s.c & f.sign_mask() : s.c;
  const bool at_end = is_at_the_end(m.joins);
  std::uint64_t d = at_end ? 0 : c;
  for (int step = 0; step < m.order.steps; ++step) {
    d = m.joins == joins::sums && step > 0
            ? add(f, d, take_step(m, x, step, 0, room))
            : take_step(m, x, step, d, room);
  }
  if (at_end) d = add(f, c, d);
  return decode(f, d).is_nan() ? m.nan : d;
}

}  // namespace

std::uint64_t evaluate(const mechanism& m, const step_case& s,
                       const std::vector<int>& used) {
  products room;
  return run(m, {s, used}, room);
}

int lowest_place(const mechanism& m, const step_case& s,
                 const std::vector<int>& used) {
  products room;
  room.notes_places = true;
  (void)run(m, {s, used}, room);
  return room.lowest_place;
}

std::string describe(const grouping& g, int length) {
  if (g.steps == 1) return fmt::format("{} products in one step", length);
  const char* const order = g.reversed ? ", the last of them first" : "";
  if (g.chunk * g.steps >= length) {
    return fmt::format("{} steps of {} products{}", g.steps, g.chunk, order);
  }
  return fmt::format("{} steps, each takes {} of {} products in turn{}",
                     g.steps, g.chunk, g.chunk * g.steps, order);
}

}  // namespace zeroulp::fuzz
