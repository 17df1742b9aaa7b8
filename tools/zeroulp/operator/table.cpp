// The operators of a model that `zeroulp operator` runs: a row each.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/zeroulp/operator/call.hpp"
#include "tools/zeroulp/program.hpp"
#include "zeroulp/model.hpp"
#include "zeroulp/model_more.hpp"

namespace zeroulp::program {
namespace {

/// `cols` of a matrix, for each of so many heads.
std::ptrdiff_t each_of(std::ptrdiff_t cols, std::ptrdiff_t heads,
                       const char* what) {
  if (heads > 0 && cols > 0 && cols % heads == 0) return cols / heads;
  throw input_error(
      fmt::format("{}: {}, but {} heads, all alike", what, cols, heads));
}

/// The tokens of a sequence: all rows are one, unless it is said.
std::ptrdiff_t length_of(operator_call& c, std::ptrdiff_t rows) {
  return c.count("length", std::max<std::ptrdiff_t>(rows, 1));
}

struct attention_inputs_of {
  attention_shape shape;
  engine::attention_inputs t;

  explicit attention_inputs_of(operator_call& c)
      : shape{}, t{c.bf16("q"), c.bf16("k"), c.bf16("v")} {
    const auto heads = c.count("heads");
    const auto depth = each_of(t.q.cols, heads, "q: columns");
    shape = {length_of(c, t.q.rows), heads, depth,
             each_of(t.v.cols, heads, "v: columns"),
             c.number("scale", attention_scale(depth))};
  }
};

void run_attention(operator_call& c) {
  const attention_inputs_of in(c);
  const auto m = in.t.q.rows;
  engine::attention_forward(in.shape, in.t, c.to_bf16("o", m, in.t.v.cols),
                            c.to_fp32("largest", m, in.shape.heads),
                            c.to_fp32("inverse", m, in.shape.heads));
}

void run_attention_backward(operator_call& c) {
  const attention_inputs_of in(c);
  const auto m = in.t.q.rows;
  engine::attention_backward(
      in.shape, in.t, {c.fp32("o"), c.fp32("largest"), c.fp32("inverse")},
      c.bf16("d_o"),
      {c.to_bf16("dq", m, in.t.q.cols), c.to_bf16("dk", m, in.t.q.cols),
       c.to_bf16("dv", m, in.t.v.cols)});
}

void run_mla(operator_call& c) {
  const mla_tokens t{c.bf16("q"), c.bf16("latent"), c.bf16("rope_key"),
                     c.bf16("up")};
  const auto heads = c.count("heads");
  const auto m = t.q.rows;
  const auto width = each_of(t.q.cols, heads, "q: columns");
  const auto depth = width - t.rope_key.cols;
  const auto values = each_of(t.up.rows, heads, "up: rows") - depth;
  if (depth < 1 || values < 1) {
    throw input_error(fmt::format(
        "q and up: {} and {} of a head, of which rope has {}: nothing is left",
        width, t.up.rows / heads, t.rope_key.cols));
  }
  engine::mla_forward(
      static_cast<mla_order>(c.choice("order")),
      {length_of(c, m), heads, depth, t.rope_key.cols, values, t.latent.cols,
       c.number("scale", attention_scale(width))},
      t, c.to_bf16("o", m, heads * values), c.to_fp32("largest", m, heads),
      c.to_fp32("inverse", m, heads));
}

void run_rope(operator_call& c) {
  const auto x = c.bf16("x");
  const auto heads = c.count("heads");
  const auto half = each_of(x.cols, 2 * heads, "x: columns, in halves");
  const auto positions = length_of(c, x.rows);
  std::vector<std::uint32_t> table;
  rope_rows t{static_cast<rope_pairs>(c.choice("pairs")),
              c.choice("pass") == 1,
              heads,
              x,
              c.fp32("cosines"),
              c.fp32("sines"),
              c.to_bf16("y", x.rows, x.cols)};
  if (c.has("cosines") != c.has("sines")) {
    throw input_error("cosines= and sines= go together");
  }
  if (!c.has("cosines")) {
    std::vector<double> by;
    for (std::ptrdiff_t i = 0; i < half; ++i) {
      by.push_back(engine::rope_frequency(2 * half, i));
    }
    table.resize(static_cast<std::size_t>(2 * positions * half));
    const matrix_view<std::uint32_t> cosines{table.data(), positions, half};
    const matrix_view<std::uint32_t> sines{table.data() + positions * half,
                                           positions, half};
    engine::rope_table(by, 0, cosines, sines);
    t.cosines = cosines;
    t.sines = sines;
  }
  engine::rope(t);
}

void run_rms_norm_backward(operator_call& c) {
  const auto dy = c.bf16("dy");
  engine::rms_norm_backward(
      {dy, c.bf16("x"), c.fp32("w"), c.fp32("rstd"), c.bf16("residual"),
       c.to_bf16("dx", dy.rows, dy.cols), c.to_fp32("dw", 1, dy.cols)});
}

router router_of(operator_call& c) {
  router r;
  r.score = static_cast<router_score>(c.choice("score"));
  r.top = c.count("top");
  r.groups = c.count("groups");
  r.kept = c.count("kept", r.groups);
  r.of_group = static_cast<group_score>(c.choice("group_score"));
  r.normalized = c.choice("weights_are") == 0;
  r.scale = c.number("scale", fp32_one);
  return r;
}

void run_route(operator_call& c) {
  const auto z = c.fp32("logits");
  const router r = router_of(c);
  if (!is_valid(r, z.cols)) {
    throw input_error(fmt::format(
        "route: {} experts in {} groups of which {} are kept, top {}: groups "
        "must be alike, and the kept ones hold the top",
        z.cols, r.groups, r.kept, r.top));
  }
  engine::route(r, {z,
                    c.fp32("bias"),
                    c.to_fp32("scores", z.rows, z.cols),
                    c.to_index("experts", z.rows, r.top),
                    c.to_fp32("weights", z.rows, r.top),
                    {}});
}

void run_route_backward(operator_call& c) {
  const auto scores = c.fp32("scores");
  const auto experts = c.index("experts");
  router r;
  r.score = static_cast<router_score>(c.choice("score"));
  r.top = experts.cols;
  r.normalized = c.choice("weights_are") == 0;
  r.scale = c.number("scale", fp32_one);
  engine::route_backward(r, {scores, experts, c.fp32("dweights"),
                             c.to_fp32("dlogits", scores.rows, scores.cols)});
}

void run_update_bias(operator_call& c) {
  engine::update_bias(c.index("experts"), c.number("speed", 0x3a83126f),
                      c.to_fp32_from("new_bias", c.fp32("bias")));
}

void run_balance_loss(operator_call& c) {
  const auto scores = c.fp32("scores");
  const auto length = length_of(c, scores.rows);
  engine::balance_loss(
      {static_cast<router_score>(c.choice("score")),
       length,
       c.number("alpha", fp32_one),
       scores,
       c.index("experts"),
       c.to_fp32("losses", length > 0 ? scores.rows / length : 0, 1),
       c.to_fp32("dlogits", scores.rows, scores.cols),
       {}});
}

void run_plan(operator_call& c) {
  const auto experts = c.index("experts");
  const auto count = c.count("count");
  const auto align = c.count("align", 128);
  const auto rows = plan_capacity(experts.rows * experts.cols, count,
                                  std::max<std::ptrdiff_t>(align, 1));
  if (rows > 0x7fffffff) throw input_error("plan: more than 2^31 - 1 rows");
  engine::make_plan({experts, align, c.to_index("rows", rows, 1),
                     c.to_index("slots", experts.rows, experts.cols),
                     c.to_index("ends", count + 1, 1)});
}

void run_slot_backward(operator_call& c) {
  const auto dy = c.bf16("dy");
  const auto slots = c.index("slots");
  const auto y = c.bf16("y");
  engine::slot_backward({dy, slots, c.fp32("weights"), y,
                         c.to_bf16("d_rows", y.rows, dy.cols),
                         c.to_fp32("dweights", slots.rows, slots.cols)});
}

void run_cross_entropy(operator_call& c) {
  const auto z = c.fp32("logits");
  engine::cross_entropy({z,
                         c.index("targets"),
                         c.number("factor", fp32_one),
                         c.to_fp32("losses", z.rows, 1),
                         c.to_bf16("dlogits", z.rows, z.cols),
                         {}});
}

void run_gradient_norm(operator_call& c) {
  double sum = 0;
  for (const auto& g : c.fp32_list("gradients")) {
    sum += engine::sum_of_squares(g);
  }
  const double norm = std::sqrt(sum);
  print(
      fmt::format("norm {} ({:016x})\n", norm, bit_cast<std::uint64_t>(norm)));
}

void run_log(operator_call& c) {
  const auto x = c.fp32("x");
  engine::log(x, c.to_fp32("y", x.rows, x.cols));
}

void run_add_shards(operator_call& c) {
  const auto all = c.fp32_list("shards");
  engine::add_shards(all, c.to_fp32("sum", all[0].rows, all[0].cols));
}

void run_update_average(operator_call& c) {
  engine::update_average(c.fp32("weights"), c.number("rate", 0x3a83126f),
                         c.to_fp32_from("new_average", c.fp32("average")));
}

void run_dual_pipe(operator_call& c) {
  const dual_pipe_shape given{c.count("stages"), c.count("micro_batches")};
  const bool valid = is_valid(given);
  const auto at = c.count("rank", 0);
  const auto count = valid ? given.micro_batches : 0;
  engine::dual_pipe_steps(given, at,
                          c.to_index("steps", 3 * count, pipe_columns));
  engine::dual_pipe_order(given, at, c.to_index("order", 2, count / 2));
}

void run_accumulate(operator_call& c) {
  const auto all = c.fp32_list("gradients");
  std::vector<std::int32_t> plain(all.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    plain[i] = static_cast<std::int32_t>(i);
  }
  const matrix_view<const std::int32_t> in_order{
      plain.data(), 1, static_cast<std::ptrdiff_t>(plain.size())};
  engine::accumulate_micro_batches(all,
                                   c.has("order") ? c.index("order") : in_order,
                                   c.to_fp32("sum", all[0].rows, all[0].cols));
}

void run_choose_replicas(operator_call& c) {
  const auto experts = c.index("experts");
  engine::choose_replicas({experts, c.index("ends"),
                           c.to_index("replicas", experts.rows, experts.cols)});
}

void run_merge_replicas(operator_call& c) {
  engine::merge_replicas({c.index("by_replica"), c.index("by_expert"),
                          c.to_index("from", c.count("rows"), 1)});
}

void run_indexer_logits(operator_call& c) {
  const engine::indexer_inputs t{c.e4m3("q"),        c.e4m3("k"),
                                 c.fp32("q_scales"), c.fp32("k_scales"),
                                 c.fp32("weights"),  c.count("first", 0)};
  engine::indexer_logits(t, c.to_fp32("logits", t.q.rows, t.k.rows));
}

void run_indexer_keys(operator_call& c) {
  const auto logits = c.fp32("logits");
  const auto ties = c.to_index("ties", logits.rows, 1);
  engine::indexer_keys(logits, c.count("first", 0),
                       c.to_index("keys", logits.rows, c.count("top")), ties);
  std::ptrdiff_t count = 0;
  for (std::ptrdiff_t i = 0; i < ties.rows; ++i) count += ties(i, 0) > 0;
  print(fmt::format("ties decide for {} of {} queries\n", count, ties.rows));
}

void run_mtp_tokens(operator_call& c) {
  const auto targets = c.index("targets");
  engine::mtp_tokens({targets, length_of(c, targets.rows), c.count("depth"),
                      c.to_index("inputs", targets.rows, 1),
                      c.to_index("predictions", targets.rows, 1)});
}

engine::mtp_rows mtp_rows_of(operator_call& c) {
  return {c.bf16("h"), c.bf16("next"), c.fp32("w_h"), c.fp32("w_next")};
}

void run_mtp_input(operator_call& c) {
  const auto t = mtp_rows_of(c);
  const auto m = t.h.rows;
  engine::mtp_input(t, c.number("eps", 0x358637bd),
                    c.to_bf16("joined", m, 2 * t.h.cols),
                    c.to_fp32("rstd_h", m, 1), c.to_fp32("rstd_next", m, 1));
}

void run_mtp_input_backward(operator_call& c) {
  const auto t = mtp_rows_of(c);
  const auto m = t.h.rows;
  const auto d = t.h.cols;
  engine::mtp_input_backward(
      t, {c.bf16("d_joined"), c.fp32("rstd_h"), c.fp32("rstd_next"),
          c.bf16("residual"), c.to_bf16("dh", m, d), c.to_bf16("d_next", m, d),
          c.to_fp32("dw_h", 1, d), c.to_fp32("dw_next", 1, d)});
}

}  // namespace

const std::vector<operator_row>& operator_rows() {
  static const std::vector<operator_row> rows{
      {"attention", "causal attention", "N5 N6",
       "q:bf16 k:bf16 v:bf16 heads:count? length:count? scale:number? > o:bf16 "
       "largest:fp32 inverse:fp32",
       run_attention},
      {"attention_backward", "its gradients", "N7",
       "q:bf16 k:bf16 v:bf16 o:fp32 largest:fp32.column inverse:fp32.column "
       "d_o:bf16 heads:count? length:count? scale:number? > dq:bf16 dk:bf16 "
       "dv:bf16",
       run_attention_backward},
      {"mla", "attention of MLA", "N27",
       "q:bf16 latent:bf16 rope_key:bf16 up:bf16 order:unabsorbed|absorbed "
       "heads:count? length:count? scale:number? > o:bf16 largest:fp32 "
       "inverse:fp32",
       run_mla},
      {"rope", "rotary position embedding", "N4",
       "x:bf16 heads:count? length:count? pairs:adjacent|halves "
       "pass:forward|backward cosines:fp32? sines:fp32? > y:bf16",
       run_rope},
      {"rms_norm_backward", "gradients of RMSNorm", "N3",
       "dy:bf16 x:bf16 w:fp32 rstd:fp32.column residual:bf16? > dx:bf16 "
       "dw:fp32",
       run_rms_norm_backward},
      {"route", "a router's choice", "N8 N9 N10",
       "logits:fp32 bias:fp32? top:count groups:count? kept:count? "
       "score:sigmoid|softmax group_score:top2_sum|max "
       "weights_are:shares|scores scale:number? > scores:fp32 experts:index "
       "weights:fp32",
       run_route},
      {"route_backward", "its gradient", "N11",
       "scores:fp32 experts:index.column dweights:fp32.column "
       "score:sigmoid|softmax weights_are:shares|scores scale:number? > "
       "dlogits:fp32",
       run_route_backward},
      {"update_bias", "a router's next bias", "N12",
       "bias:fp32 experts:index.column speed:number? > new_bias:fp32",
       run_update_bias},
      {"balance_loss", "the loss of experts out of balance", "N25",
       "scores:fp32 experts:index.column alpha:number? score:sigmoid|softmax "
       "length:count? > losses:fp32 dlogits:fp32",
       run_balance_loss},
      {"plan", "the rows of experts", "N13",
       "experts:index.column count:count align:count? > rows:index slots:index "
       "ends:index",
       run_plan},
      {"slot_backward", "gradients through slots", "N14",
       "dy:bf16 slots:index.column weights:fp32.column y:bf16 > d_rows:bf16 "
       "dweights:fp32",
       run_slot_backward},
      {"cross_entropy", "losses and their gradient", "N15",
       "logits:fp32 targets:index.column factor:number? > losses:fp32 "
       "dlogits:bf16",
       run_cross_entropy},
      {"gradient_norm", "the norm of all gradients", "N17",
       "gradients:fp32.list", run_gradient_norm},
      {"log", "natural logarithms", "E6", "x:fp32 > y:fp32", run_log},
      {"add_shards", "the sum over shards", "N16",
       "shards:fp32.list > sum:fp32", run_add_shards},
      {"update_average", "a moving average of weights", "N26",
       "average:fp32 weights:fp32 rate:number? > new_average:fp32",
       run_update_average},
      {"dual_pipe", "what a rank, or stage, of DualPipe does", "N28",
       "stages:count micro_batches:count rank:count? > steps:index order:index",
       run_dual_pipe},
      {"accumulate", "the sum over micro-batches", "N28",
       "gradients:fp32.list order:index? > sum:fp32", run_accumulate},
      {"choose_replicas", "which replica of an expert", "N29",
       "experts:index.column ends:index.column > replicas:index",
       run_choose_replicas},
      {"merge_replicas", "rows of replicas, together again", "N29",
       "by_replica:index.column by_expert:index.column rows:count > from:index",
       run_merge_replicas},
      {"indexer_logits", "logits of the lightning indexer", "N30",
       "q:e4m3 k:e4m3 q_scales:fp32.column k_scales:fp32.column "
       "weights:fp32.column first:count? > logits:fp32",
       run_indexer_logits},
      {"indexer_keys", "the keys that it chooses", "N30",
       "logits:fp32 top:count first:count? > keys:index ties:index",
       run_indexer_keys},
      {"mtp_tokens", "what multi-token prediction reads", "N31",
       "targets:index.column length:count? depth:count? > inputs:index "
       "predictions:index",
       run_mtp_tokens},
      {"mtp_input", "what its projection reads", "N31",
       "h:bf16 next:bf16 w_h:fp32 w_next:fp32 eps:number? > joined:bf16 "
       "rstd_h:fp32 rstd_next:fp32",
       run_mtp_input},
      {"mtp_input_backward", "its gradients", "N31",
       "d_joined:bf16 h:bf16 next:bf16 w_h:fp32 w_next:fp32 "
       "rstd_h:fp32.column rstd_next:fp32.column residual:bf16? > dh:bf16 "
       "d_next:bf16 dw_h:fp32 dw_next:fp32",
       run_mtp_input_backward},
  };
  return rows;
}

}  // namespace zeroulp::program
