#include "tools/study/paper/counts.hpp"

#include <vector>

#include "tools/study/error/run.hpp"
#include "zeroulp/model.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::study::paper {
namespace {

constexpr std::uint64_t seed = 73;

/// FP32 numbers of [1, 2): only their order matters.
void draw_logits(dense<std::uint32_t>& logits) {
  for (std::size_t i = 0; i < logits.data.size(); ++i) {
    logits.data[i] = 0x3f800000u | counter_rng(seed, i).next32() >> 9;
  }
}

/// The experts of each token, m x top.
dense<std::int32_t> route_tokens(const router& r, std::ptrdiff_t tokens,
                                 std::ptrdiff_t experts) {
  dense<std::uint32_t> logits(tokens, experts), scores(tokens, experts);
  dense<std::uint32_t> weights(tokens, r.top);
  dense<std::int32_t> chosen(tokens, r.top);
  draw_logits(logits);
  engine::route(
      r, {logits.view(), {}, scores.view(), chosen.view(), weights.view(), {}});
  return chosen;
}

}  // namespace

dispatch_copies count_dispatch(const v3_shape& s, const v3_cluster& c,
                               std::ptrdiff_t top, std::ptrdiff_t tokens) {
  router r;
  r.top = top;
  r.groups = c.nodes;
  r.kept = c.most_nodes;
  const auto chosen = route_tokens(r, tokens, s.experts);
  dense<std::int32_t> rows(plan_capacity(tokens * top, s.experts, 1), 1);
  dense<std::int32_t> slots(tokens, top), ends(s.experts + 1, 1);
  engine::make_plan({chosen.view(), 1, rows.view(), slots.view(), ends.view()});

  const std::int64_t of_node = s.experts / c.nodes;
  const std::int64_t of_gpu = of_node / c.gpus_of_node;
  // Experts ascend, so a token's rows at one node or GPU are adjacent.
  const auto count = static_cast<std::size_t>(tokens);
  std::vector<std::int64_t> node(count, -1), gpu(count, -1);
  std::vector<int> nodes(count);
  std::int64_t all_nodes = 0, all_gpus = 0, all_rows = 0;
  dispatch_copies copies;
  for (std::int64_t e = 0; e < s.experts; ++e) {
    for (auto row = ends.view()(e, 0); row < ends.view()(e + 1, 0); ++row) {
      const auto t = static_cast<std::size_t>(rows.view()(row, 0));
      if (node[t] != e / of_node) ++all_nodes, ++nodes[t];
      if (gpu[t] != e / of_gpu) ++all_gpus;
      node[t] = e / of_node;
      gpu[t] = e / of_gpu;
      ++all_rows;
      copies.most_nodes = std::max(copies.most_nodes, nodes[t]);
    }
  }
  const auto mean = [&](std::int64_t n) {
    return static_cast<double>(n) / static_cast<double>(tokens);
  };
  copies.nodes = mean(all_nodes);
  copies.gpus = mean(all_gpus);
  copies.rows = mean(all_rows);
  return copies;
}

}  // namespace zeroulp::study::paper
