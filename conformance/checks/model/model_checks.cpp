// The list of the checks of a training step's operators, and what they share.

#include <cmath>
#include <exception>

#include "conformance/checks/model/model_parts.hpp"
#include "src/base/threads.hpp"

namespace zeroulp::conformance {

effort within_reason(const model_functions& t, effort e) {
  if (t.name == "core" && e.level > 0) --e.level;
  return e;
}

std::uint64_t case_count(const effort& e, std::uint64_t at_0) {
  return at_0 << (e.level > 0 ? 4 * e.level : 0);
}

void on_all_cores(std::size_t count,
                  const std::function<void(std::size_t)>& use) {
  std::vector<std::exception_ptr> thrown(count);
#pragma omp parallel for schedule(dynamic) num_threads(threads_for())
  for (std::size_t i = 0; i < count; ++i) {
    try {
      use(i);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  }
  for (const auto& error : thrown) {
    if (error) std::rethrow_exception(error);
  }
}

grid bell_shaped(format f, std::ptrdiff_t m, std::ptrdiff_t n, int exponent,
                 counter_rng& rng) {
  grid x(m, n);
  for (auto& word : x.words) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += static_cast<double>(rng.next32()) * 0x1p-32;
    }
    word = code_near(f, std::ldexp(sum, exponent));
  }
  return x;
}

grid any_numbers(format f, std::ptrdiff_t m, std::ptrdiff_t n,
                 counter_rng& rng) {
  if (!rng.one_in(3)) return bell_shaped(f, m, n, 0, rng);
  const auto family = static_cast<matrix_family>(rng.below(family_count));
  return make_matrix(family, f, m, n, counter_rng(rng.next(), 0));
}

std::uint32_t any_factor(counter_rng& rng) {
  const auto exponent = static_cast<std::uint32_t>(rng.between(117, 130));
  return exponent << 23 | (rng.next32() & 0x007fffff);
}

std::uint64_t bits_of_double(double x) {
  return std::isnan(x) ? 0x7fffffffffffffff : bit_cast<std::uint64_t>(x);
}

std::vector<model_check> model_check_list() {
  return {
      {"LogOperationByOperation", "E6", "host FP64", 0, log_operations},
      {"LogIsWithinItsBound", "E6", "MPFR", 0, log_bound},
      {"RopeFrequencies", "E7", "MPFR", 0, rope_frequencies},
      {"RopeTables", "E7", "MPFR", 0, rope_tables},
      {"RopeTablesAtMidpoints", "E7", "MPFR", 0, hard_angles},
      {"AttentionScales", "E8", "host FP64", 0, attention_scales},
      {"RmsNormGradients", "N1 N2 N3", "host FP32", 0, norm_gradients},
      {"RopeRows", "N4", "host FP32", 0, rope_of_rows},
      {"AttentionProductsOfTheOracle", "N5 N6 N7", "exact integers", 0,
       products_of_the_oracle},
      {"AttentionForward", "N5 N6", "exact integers, host FP32", 0,
       attention_forward_pass},
      {"AttentionBackward", "N1 N5 N7", "exact integers, host FP32", 0,
       attention_backward_pass},
      {"AttentionOfValuesThatAreNoNumbers", "N6", "exact integers, host FP32",
       0, values_that_are_no_numbers},
      {"AttentionOfGradientsThatAreNoNumbers", "N7",
       "exact integers, host FP32", 0, gradients_that_are_no_numbers},
      {"RouterChoices", "N1 N8 N9 N10", "host FP32", 0, router_choices},
      {"RouterGradients", "N11", "host FP32", 0, router_gradients},
      {"RouterBiasUpdates", "N12", "host FP32", 0, bias_updates},
      {"ExpertPlans", "N13", "definition", 0, expert_plans},
      {"SlotGradients", "N1 N14", "host FP32", 0, slot_gradients_of},
      {"CrossEntropyRows", "N1 N15", "host FP32 and FP64", 0,
       cross_entropy_of_rows},
      {"SumsOfLosses", "N15", "host FP64", 0, sums_of_losses},
      {"SumsOfShards", "N16", "host FP32", 0, sums_of_shards},
      {"SumsOfSquares", "N1 N17", "host FP64", 0, sums_of_squares},
      {"BalanceLosses", "N1 N2 N25", "host FP32", 0, balance_losses},
      {"AveragesOfWeights", "N26", "host FP32", 0, averages_of_weights},
      {"LatentAttention", "N5 N6 N27", "exact integers, host FP32", 0,
       latent_attention},
      {"OrdersOfLatentAttention", "N27", "exact integers, host FP32", 0,
       orders_of_latent_attention},
      {"PipelineSchedules", "N28", "a pipeline on a clock", 0,
       pipeline_schedules},
      {"PipelineOrders", "N28", "definition", 0, pipeline_orders},
      {"SumsOfMicroBatches", "N28", "host FP32", 0, sums_of_micro_batches},
      {"ChoicesOfReplicas", "N29", "definition", 0, choices_of_replicas},
      {"ReplicasGiveTheSame", "N29", "one expert of each", 0,
       replicas_give_the_same},
      {"LogitsOfTheIndexer", "N30", "rational, host FP32", 0,
       logits_of_the_indexer},
      {"KeysOfTheIndexer", "N30", "definition", 0, keys_of_the_indexer},
      {"TokensOfMtp", "N31", "definition", 0, tokens_of_mtp},
      {"RowsOfMtp", "N1 N2 N3 N31", "host FP32", 0, rows_of_mtp},
      {"RatesAndClipping", "N17 N18", "host FP64", 0, rates_and_clipping},
  };
}

check_list model_checks() {
  check_list all;
  for (const model_check& c : model_check_list()) {
    all.push_back({c.name + "OfTheCore", c.clauses, c.oracle, c.level,
                   [run = c.run](const implementation&, const effort& e) {
                     return run(core_model(), e);
                   }});
  }
  for (const model_check& c : model_check_list()) {
    all.push_back({c.name + "OfTheEngine", c.clauses, c.oracle, c.level,
                   [run = c.run](const implementation&, const effort& e) {
                     return run(engine_model(), e);
                   }});
  }
  return all;
}

}  // namespace zeroulp::conformance
