// Finds the mechanism of a black box.

#include "fuzz/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fuzz/engine/full_step.hpp"
#include "fuzz/probe/alignment.hpp"
#include "fuzz/probe/order.hpp"
#include "fuzz/probe/properties.hpp"
#include "fuzz/probe/range.hpp"
#include "fuzz/probe/terms.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::directed_step_cases;
using conformance::step_family;

/// Of orders that the first experiments leave, so many are begun with. If there
/// are more, single products must do at first.
constexpr std::size_t most_starts = 4;

mechanism unknown(const black_box& box) {
  return {.a = box.a,
          .b = box.b,
          .length = box.length,
          .order = {box.length},
          .acc = unknown_accumulator(box.stored),
          .operand_a = box.a,
          .operand_b = box.b};
}

/// Steps of every family, and those directed at m's parameters.
std::vector<step_case> verification(const black_box& box, const mechanism& m,
                                    const probe_options& o) {
  const path p = path_of(box, m.acc);
  std::vector<step_case> all;
  const auto add = [&](step_case s) {
    fill_up(p, s);
    all.push_back(std::move(s));
  };
  for (int n = 0; n < o.random_steps; ++n) {
    const int family = n % conformance::step_families;
    add(make_step_case(p, static_cast<step_family>(family),
                       counter_rng(o.seed, static_cast<std::uint64_t>(n))));
  }
  directed_step_cases(p, 0, add);
  return all;
}

/// Paths of the box's formats that agree with everything, NaN included.
std::vector<std::pair<std::string, mechanism>> named(const experiments& asked,
                                                     agreement& agrees) {
  std::vector<std::pair<std::string, mechanism>> all;
  const black_box& box = asked.box();
  for (const auto& p : all_paths()) {
    const path& x = p.value;
    if (x.a != box.a || x.b != box.b || x.acc.stored != box.stored) continue;
    const mechanism m = mechanism_of(x, box.length);
    if (agrees.holds(m)) all.emplace_back(p.name, m);
  }
  return all;
}

/// The experiments that contradict `m`, those of the fewest terms first.
std::vector<const experiment*> contradictions(const experiments& asked,
                                              const mechanism& m) {
  std::vector<const experiment*> all;
  for (const experiment& e : asked.all()) {
    if (evaluate(m, e.inputs, e.used) != e.d) all.push_back(&e);
  }
  const auto terms = [](const experiment* e) {
    return e->used.size() + (e->inputs.c != 0 ? 1 : 0);
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto* x, const auto* y) {
    return terms(x) < terms(y);
  });
  return all;
}

/// Why r.found does not fit.
void add_contradictions(const experiments& asked, probe_result& r) {
  constexpr std::size_t shown = 3;
  const auto all = contradictions(asked, r.found);
  r.contradicting = all.size();
  for (const experiment* e : all) {
    if (r.because.size() == shown) break;
    r.because.push_back(evidence_for(*e, r.found));
  }
}

/// Throws input_error unless the first answers are the same once more.
void check_repeats(const black_box& box, const experiments& asked) {
  const std::size_t count = std::min<std::size_t>(asked.all().size(), 1000);
  std::vector<step_case> again;
  for (std::size_t i = 0; i < count; ++i) {
    again.push_back(asked.all()[i].inputs);
  }
  const auto d = box.run(again);
  for (std::size_t i = 0; i < count; ++i) {
    if (d[i] == asked.all()[i].d) continue;
    throw input_error(
        fmt::format("{}: the same step gave {:x}, then {:x}: no mechanism does",
                    box.name, asked.all()[i].d, d[i]));
  }
}

class search {
 public:
  search(const black_box& box, const probe_options& o)
      : options_(o), asked_(box), base_(unknown(box)) {}

  probe_result run() {
    find_specials(asked_, base_);
    lowest_ = lowest_product(asked_, !base_.flushes_operands);
    const auto orders = find_orders(asked_, lowest_);
    check_repeats(asked_.box(), asked_);
    if (orders.empty()) {
      result_.why =
          "its products meet in no order that the search knows (steps of "
          "neighbours, or in turn), or sums are no chain of steps";
    }
    for (std::size_t i = 0; i < std::min(orders.size(), most_starts); ++i) {
      if (try_orders(orders, i)) break;
    }
    finish();
    return std::move(result_);
  }

 private:
  /// Whether a mechanism of one of these orders agrees with everything. Few
  /// terms are looked at in the first step of orders[start].
  bool try_orders(const std::vector<order_found>& orders, std::size_t start) {
    mechanism m = base_;
    m.order = orders[start].order;
    m.joins = orders[start].joins;
    const std::size_t first = asked_.ask(alignment_cases(asked_.box(), m));
    agreement of_few(asked_, first);
    of_few.keep([this](const experiment& e) { return is_plain(e); });
    if (orders.size() > most_starts) {
      of_few.keep([](const experiment& e) { return e.used.size() < 2; });
    }
    mechanism few = m;
    const bool any = any_alignment(m, [&](const mechanism& x) {
      few = x;
      return of_few.holds(x);
    });
    if (!any) {
      note(m, fmt::format("no cut, output and rounding of a step agree with "
                          "its answers ({})",
                          describe(m.order, m.length)));
      return false;
    }
    asked_.ask(carry_cases(asked_.box(), few));
    asked_.ask(range_cases(asked_.box(), few));
    asked_.ask(verification(asked_.box(), few, options_));
    agreement within(asked_, first);
    within.keep([&](const experiment& e) {
      return is_plain(e) && is_within_range(few, e);
    });
    agreement all(asked_);
    const auto fits = [&](mechanism x, const order_found& o) {
      x.order = o.order;
      x.joins = o.joins;
      return within.holds(x) && any_range(x, [&](const mechanism& y) {
               result_.found = y;
               return all.holds(y);
             });
    };
    result_.fits = any_alignment(m, [&](const mechanism& x) {
      return of_few.holds(x) &&
             std::any_of(orders.begin(), orders.end(),
                         [&](const auto& o) { return fits(x, o); });
    });
    if (result_.fits) return true;
    note(few,
         "what fits the experiments about one property contradicts others");
    return false;
  }

  /// Whether no floor matters, nor what becomes of a subnormal c or result.
  bool is_plain(const experiment& e) const {
    const black_box& box = asked_.box();
    const auto is_normal = [f = box.stored](std::uint64_t code) {
      return (code & f.magnitude_mask()) >> f.man_bits != 0;
    };
    const auto last_bit = [](const unpacked& x) {
      return x.exponent + std::countr_zero(x.significand);
    };
    const auto is_low = [&](int k) {
      const auto i = static_cast<std::size_t>(k);
      const unpacked x = decode(box.a, e.inputs.a[i]);
      const unpacked y = decode(box.b, e.inputs.b[i]);
      return !x.is_zero() && !y.is_zero() && x.is_finite() && y.is_finite() &&
             last_bit(x) + last_bit(y) < lowest_;
    };
    return is_normal(e.d) && (e.inputs.c == 0 || is_normal(e.inputs.c)) &&
           std::none_of(e.used.begin(), e.used.end(), is_low);
  }

  /// Keeps the mechanism that the fewest answers contradict.
  void note(const mechanism& m, const std::string& why) {
    const std::size_t wrong = contradictions(asked_, m).size();
    if (closest_ && wrong >= closest_->first) return;
    closest_ = {wrong, m};
    result_.why = why;
  }

  void finish() {
    result_.outputs = asked_.all().size();
    if (!result_.fits) {
      result_.found = closest_ ? closest_->second : base_;
      add_contradictions(asked_, result_);
      return;
    }
    result_.why.clear();
    agreement agrees(asked_);
    for (auto& [name, m] : named(asked_, agrees)) {
      if (result_.names.empty()) result_.found = m;
      result_.names.push_back(name);
    }
    result_.properties = properties_of(asked_, result_.found);
  }

  const probe_options options_;
  experiments asked_;
  mechanism base_;
  int lowest_ = 0;  ///< lowest_product()
  probe_result result_;
  std::optional<std::pair<std::size_t, mechanism>> closest_;
};

}  // namespace

probe_result probe(const black_box& box, const probe_options& options) {
  if (box.length < 1) {
    throw input_error(fmt::format("{}: no products", box.name));
  }
  return search(box, options).run();
}

}  // namespace zeroulp::fuzz
