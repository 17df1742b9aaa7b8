// The parts that model_checks.cpp's list is made of, and what they share:
// guarded rows, and numbers to fill them with.

#ifndef ZEROULP_CONFORMANCE_CHECKS_MODEL_MODEL_PARTS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_MODEL_MODEL_PARTS_HPP_

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "conformance/cases/placement.hpp"
#include "conformance/checks/model/model_functions.hpp"
#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/model_oracle.hpp"

namespace zeroulp::conformance {

using oracle::grid;

/// A matrix of adjacent elements, with gaps between rows or without, in a
/// guarded buffer.
template <class T>
class guarded_rows : public placed<T> {
 public:
  guarded_rows(std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng)
      : placed<T>(rng.one_in(2) ? placement::padded : placement::dense, m, n,
                  static_cast<T>(0x5ca1e5ca)) {}
  guarded_rows(const grid& g, counter_rng& rng)
      : guarded_rows(g.rows, g.cols, rng) {
    this->load(g);
  }
  /// Indices, too, as words.
  grid read() const {
    const auto v = this->input();
    grid g(v.rows, v.cols);
    for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
        g(i, j) = static_cast<std::uint32_t>(v(i, j));
      }
    }
    return g;
  }
};
using bf16_rows = guarded_rows<std::uint16_t>;
using word_rows = guarded_rows<std::uint32_t>;
using index_rows = guarded_rows<std::int32_t>;

/// Counts every element that is not the oracle's, and writes beside them.
template <class T, class Describe>
void count_output(verdict& v, const guarded_rows<T>& got, const grid& want,
                  const char* what, Describe describe) {
  compare(v, got.read(), want, what, describe);
  v.count(got.guards_hold(),
          [&] { return describe() + ": wrote beside " + what; });
}

/// The core takes hours for what the engine does in minutes: it gets the cases
/// of the level below.
effort within_reason(const model_functions& t, effort e);

/// The number of random cases, 16 times as many at each level.
std::uint64_t case_count(const effort& e, std::uint64_t at_0);

/// Calls run(rng, number of the case, verdict) for each case.
template <class Run>
verdict for_model_cases(const effort& e, std::uint64_t at_0, Run run) {
  verdict v;
  for (std::uint64_t n = 0; n < case_count(e, at_0); ++n) {
    counter_rng rng(e.seed, n);
    run(rng, n, v);
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

/// Calls use(i) for each i below `count`, on all cores; what it throws for the
/// lowest i reaches the caller.
void on_all_cores(std::size_t count,
                  const std::function<void(std::size_t)>& use);

/// The first `count` cases, above level 0 on all cores: `run` changes nothing
/// but its verdict. The sum of all verdicts is that of one core.
template <class Run>
verdict for_separate_cases(const effort& e, std::uint64_t count, Run run) {
  constexpr std::uint64_t at_once = 1024;  // their verdicts are kept
  verdict all;
  for (std::uint64_t from = 0; from < count; from += at_once) {
    std::vector<verdict> parts(std::min(at_once, count - from));
    std::atomic<bool> failed = false;
    const auto use = [&](std::size_t i) {
      if (failed) return;
      counter_rng rng(e.seed, from + i);
      run(rng, from + i, parts[i]);
      if (e.stop_early && parts[i].failures > 0) failed = true;
    };
    if (e.level > 0) {
      on_all_cores(parts.size(), use);
    } else {
      for (std::size_t i = 0; i < parts.size(); ++i) use(i);
    }
    for (const verdict& v : parts) all += v;
    if (failed) break;
  }
  return all;
}

/// As for_model_cases(), above level 0 on all cores, but of the core, whose
/// arithmetic is chosen for the process and not for a thread.
template <class Run>
verdict for_separate_cases(const model_functions& t, const effort& e,
                           std::uint64_t at_0, Run run) {
  if (t.name == "core") return for_model_cases(e, at_0, run);
  return for_separate_cases(e, case_count(e, at_0), run);
}

/// Codes of numbers distributed nearly as N(0, 4^exponent).
grid bell_shaped(format f, std::ptrdiff_t m, std::ptrdiff_t n, int exponent,
                 counter_rng& rng);

/// Most often N(0, 1); else with specials, zeros, subnormal and huge ones.
grid any_numbers(format f, std::ptrdiff_t m, std::ptrdiff_t n,
                 counter_rng& rng);

/// A positive FP32 number of moderate size.
std::uint32_t any_factor(counter_rng& rng);

/// FP64 bits; every NaN is the same.
std::uint64_t bits_of_double(double x);

// model_tables.cpp
verdict log_operations(const model_functions&, const effort&);
verdict log_bound(const model_functions&, const effort&);
verdict rope_frequencies(const model_functions&, const effort&);
verdict rope_tables(const model_functions&, const effort&);
verdict hard_angles(const model_functions&, const effort&);
verdict attention_scales(const model_functions&, const effort&);
verdict rates_and_clipping(const model_functions&, const effort&);

// model_row_checks.cpp
verdict norm_gradients(const model_functions&, const effort&);
verdict rope_of_rows(const model_functions&, const effort&);
verdict cross_entropy_of_rows(const model_functions&, const effort&);
verdict sums_of_losses(const model_functions&, const effort&);
verdict sums_of_shards(const model_functions&, const effort&);
verdict sums_of_squares(const model_functions&, const effort&);
verdict averages_of_weights(const model_functions&, const effort&);

// attention_checks.cpp
verdict products_of_the_oracle(const model_functions&, const effort&);
verdict attention_forward_pass(const model_functions&, const effort&);
verdict attention_backward_pass(const model_functions&, const effort&);
verdict values_that_are_no_numbers(const model_functions&, const effort&);
verdict gradients_that_are_no_numbers(const model_functions&, const effort&);

// mla_checks.cpp
verdict latent_attention(const model_functions&, const effort&);
verdict orders_of_latent_attention(const model_functions&, const effort&);

// pipeline_checks.cpp
verdict pipeline_schedules(const model_functions&, const effort&);
verdict pipeline_orders(const model_functions&, const effort&);
verdict sums_of_micro_batches(const model_functions&, const effort&);

// replica_checks.cpp
verdict choices_of_replicas(const model_functions&, const effort&);
verdict replicas_give_the_same(const model_functions&, const effort&);

// indexer_checks.cpp
verdict logits_of_the_indexer(const model_functions&, const effort&);
verdict keys_of_the_indexer(const model_functions&, const effort&);

// mtp_checks.cpp
verdict tokens_of_mtp(const model_functions&, const effort&);
verdict rows_of_mtp(const model_functions&, const effort&);

// router_checks.cpp
verdict router_choices(const model_functions&, const effort&);
verdict router_gradients(const model_functions&, const effort&);
verdict bias_updates(const model_functions&, const effort&);
verdict expert_plans(const model_functions&, const effort&);
verdict slot_gradients_of(const model_functions&, const effort&);
verdict balance_losses(const model_functions&, const effort&);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_MODEL_MODEL_PARTS_HPP_
