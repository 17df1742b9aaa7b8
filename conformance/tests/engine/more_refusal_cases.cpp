// What the operators of model_more.hpp say of shapes, indices and settings that
// do not fit, and what they take at the limits.

#include "conformance/tests/engine/model_refusal_parts.hpp"

namespace zeroulp::conformance::model_refusals {

void requests::pipelines() {
  struct table {
    dual_pipe_shape shape;
    std::ptrdiff_t at;
    matrix_view<std::int32_t> steps, order;
  };
  const table usual{{4, 8}, 1, {out_index, 24, 3}, {out_index, 2, 4}};
  const auto steps = [&](const table& t) {
    f.dual_pipe_steps(t.shape, t.at, t.steps);
  };
  const auto order = [&](const table& t) {
    f.dual_pipe_order(t.shape, t.at, t.order);
  };
  shapes(usual, steps, &table::steps, "dual_pipe_steps", true, true, false);
  shapes(usual, order, &table::order, "dual_pipe_order", true, true, false);
  const auto both = [&](const auto& call, const std::string& what,
                        const std::string& which) {
    one(
        usual, call, [](auto&) {}, "");
    for (const int at : {0, 3}) {
      one(
          usual, call, [&](table& t) { t.at = at; }, "");
    }
    for (const int at : {-1, 4}) {
      one(
          usual, call, [&](table& t) { t.at = at; },
          fmt::format("{}: {} {}, but 0 to 3 are there", what, which, at));
    }
    struct row {
      std::ptrdiff_t stages, micro_batches;
    };
    for (const row& r :
         {row{0, 8}, row{-2, 8}, row{3, 8}, row{1, 2}, row{4, 6}, row{4, 7},
          row{4, 9}, row{2, 2}, row{2, 0x20000002}, row{2, 3}}) {
      one(
          usual, call,
          [&](table& t) {
            t.shape = {r.stages, r.micro_batches};
          },
          fmt::format("{}: {} stages, {} micro-batches", what, r.stages,
                      r.micro_batches));
    }
    // As many as there may be: the table does not fit, that is all.
    one(
        usual, call,
        [](table& t) {
          t.shape = {2, 0x20000000};
        },
        what + (which == "rank" ? ": 24 x 3" : ": 2 x 4"));
    one(
        usual, call,
        [](table& t) {
          t.shape = {2, 4};
          t.steps.rows = 12;
          t.order.cols = 2;
        },
        "");
  };
  both(steps, "dual_pipe_steps", "rank");
  both(order, "dual_pipe_order", "stage");
}

void requests::micro_batches() {
  struct sum {
    std::size_t count;
    codes_in last;
    slots_in order;
    codes_out out;
  };
  const sum usual{4, {word, 3, 4}, {index, 2, 2}, {out, 3, 4}};
  for (int i = 0; i < 4; ++i) index[i] = i;
  const auto call = [&](const sum& s) {
    std::vector<codes_in> each(s.count, codes_in(word, 3, 4));
    if (s.count > 0) each.back() = s.last;
    f.accumulate_micro_batches(each, s.order, s.out);
  };
  const std::string name = "accumulate_micro_batches, ";
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &sum::last, name + "a gradient", true, true, true);
  shapes(usual, call, &sum::out, name + "output", false, false, true);
  for (const auto& change :
       {std::function<void(sum&)>([](sum& s) { s.order.rows = 0; }),
        std::function<void(sum&)>([](sum& s) { s.order.cols = 0; })}) {
    one(usual, call, change, name + "order: no micro-batches");
  }
  one(
      usual, call, [](sum& s) { s.order.rows = 1; }, "");
  one(
      usual, call, [](sum& s) { s.order.cols = 1; }, "");
  for (const int at : {0, 1, 3}) {
    for (const int value : {-1, 4}) {
      index[at] = value;
      one(
          usual, call, [](auto&) {},
          fmt::format("{}order ({}, {}): {}, but 4 gradients are there", name,
                      at / 2, at % 2, value));
      index[at] = at;
    }
  }
  index[3] = 0;
  one(
      usual, call, [](auto&) {}, name + "order (1, 1): 0 a second time");
  index[1] = 0;
  one(
      usual, call, [](auto&) {}, name + "order (0, 1): 0 a second time");
  for (int i = 0; i < 4; ++i) index[i] = 0;
}

void requests::replicas() {
  using choice = replica_choice;
  // Experts 0 to 2 have 1, 2 and 1 replicas.
  const choice usual{{index, 3, 2}, {ends, 4, 1}, {out_index, 3, 2}};
  const auto usual_ends = [&] {
    ends[4] = 0;  // beyond them
    for (int i = 0; i < 4; ++i) ends[i] = i < 2 ? i : i + 1;
  };
  usual_ends();
  const auto& call = f.choose_replicas;
  const std::string name = "choose_replicas, ";
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &choice::replicas, name + "replicas", true, true, false);
  shapes(usual, call, &choice::ends, name + "ends", false, true, false);
  places(usual, call, name + "experts", {0, 5}, 2, 0, 2);
  for (const int first : {-1, 1}) {
    ends[0] = first;
    one(
        usual, call, [](auto&) {}, name + "ends: the first end is 0");
  }
  ends[0] = 0;
  one(
      usual, call, [](choice& c) { c.ends.rows = 0; },
      name + "ends: the first end is 0");
  one(
      usual, call, [](choice& c) { c.experts.rows = c.replicas.rows = 0; }, "");
  // No experts: no slots.
  one(
      usual, call,
      [](choice& c) {
        c.ends.rows = 1;
        c.experts.rows = c.replicas.rows = 0;
      },
      "");
  for (const int e : {0, 1, 2}) {
    for (const int less : {0, 1}) {
      ends[e + 1] = ends[e] - less;
      one(
          usual, call, [](auto&) {},
          fmt::format("{}ends: expert {} has no replica", name, e));
    }
    usual_ends();
  }
  using rows = replica_rows;
  const rows merged{{slots, 3, 2}, {index, 3, 2}, {out_index, 7, 1}};
  const auto& merge = f.merge_replicas;
  const std::string of_rows = "merge_replicas, ";
  one(
      merged, merge, [](auto&) {}, "");
  shapes(merged, merge, &rows::by_replica, of_rows + "by_replica", true, true,
         false);
  shapes(merged, merge, &rows::from, of_rows + "from", false, true, false);
  places(merged, merge, of_rows + "by_expert", {0, 5}, 2, -1, 6);
  const int before[] = {slots[0], slots[5]};
  for (const int at : {0, 5}) {
    slots[at] = -2;
    one(
        merged, merge, [](auto&) {},
        fmt::format("{}by_replica ({}, {}): -2, but -1 to", of_rows, at / 2,
                    at % 2));
    for (const int value : {-1, 0, 0x7ffffffe}) {
      slots[at] = value;
      one(
          merged, merge, [](auto&) {}, "");
    }
    slots[at] = before[at / 5];
  }
}

void requests::indexers() {
  struct logits {
    matrix_view<const std::uint8_t> q, k;
    codes_in q_scales, k_scales, weights;
    std::ptrdiff_t first;
    codes_out out;
  };
  const std::vector<std::uint8_t> codes(400, 0x38);
  // 3 queries of 2 heads of 5, 4 keys.
  const logits usual{{codes.data(), 3, 10},
                     {codes.data(), 4, 5},
                     {word, 3, 2},
                     {word, 4, 1},
                     {word, 3, 2},
                     0,
                     {out, 3, 4}};
  const auto call = [&](const logits& t) {
    f.indexer_logits({t.q, t.k, t.q_scales, t.k_scales, t.weights, t.first},
                     t.out);
  };
  const std::string name = "indexer_logits, ";
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &logits::q, name + "q", false, true, true);
  shapes(usual, call, &logits::q_scales, name + "q_scales", true, true, true);
  shapes(usual, call, &logits::k_scales, name + "k_scales", true, true, false);
  shapes(usual, call, &logits::weights, name + "weights", true, false, true);
  shapes(usual, call, &logits::out, name + "logits", true, true, true);
  one(
      usual, call,
      [&](logits& t) {
        t.k = {codes.data(), 4, 5, 10, 2};
      },
      name + "k: elements of a row are 2 apart");
  one(
      usual, call, [](logits& t) { t.k.cols = 4; }, name + "q: ");
  one(
      usual, call, [](logits& t) { t.weights.cols = 0; },
      "indexer_logits: 0 heads of 5");
  one(
      usual, call, [](logits& t) { t.k.cols = 0; },
      "indexer_logits: 2 heads of 0");
  one(
      usual, call, [](logits& t) { t.first = -1; },
      "indexer_logits: the first query is at -1");
  for (const std::ptrdiff_t first :
       {std::ptrdiff_t{7}, std::numeric_limits<std::ptrdiff_t>::max()}) {
    one(
        usual, call, [&](logits& t) { t.first = first; }, "");
  }
  one(
      usual, call,
      [](logits& t) { t.k.rows = t.k_scales.rows = t.out.cols = 0; }, "");
  one(
      usual, call,
      [](logits& t) {
        t.k.cols = t.weights.cols = t.q_scales.cols = t.q.cols = 1;
      },
      "");
  struct keys {
    codes_in logits;
    std::ptrdiff_t first;
    matrix_view<std::int32_t> chosen, ties;
  };
  const keys chosen{{word, 3, 4}, 0, {out_index, 3, 2}, {out_index, 3, 1}};
  const auto choose = [&](const keys& t) {
    f.indexer_keys(t.logits, t.first, t.chosen, t.ties);
  };
  const std::string of_keys = "indexer_keys, ";
  one(
      chosen, choose, [](auto&) {}, "");
  shapes(chosen, choose, &keys::logits, of_keys + "logits", false, false, true);
  shapes(chosen, choose, &keys::chosen, of_keys + "keys", true, false, true);
  shapes(chosen, choose, &keys::ties, of_keys + "ties", true, true, false);
  one(
      chosen, choose, [](keys& t) { t.chosen.cols = 0; },
      of_keys + "keys: none are chosen");
  one(
      chosen, choose, [](keys& t) { t.chosen.cols = 1; }, "");
  one(
      chosen, choose, [](keys& t) { t.first = -1; },
      "indexer_keys: the first query is at -1");
  for (const std::ptrdiff_t first :
       {std::ptrdiff_t{4}, std::numeric_limits<std::ptrdiff_t>::max()}) {
    one(
        chosen, choose, [&](keys& t) { t.first = first; }, "");
  }
}

void requests::predictions() {
  using shift = mtp_shift;
  const shift usual{{index, 6, 1}, 3, 1, {out_index, 6, 1}, {slots, 6, 1}};
  const auto& call = f.mtp_tokens;
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &shift::targets, "mtp_tokens, targets", false, true,
         false);
  shapes(usual, call, &shift::inputs, "mtp_tokens, inputs", true, true, false);
  shapes(usual, call, &shift::predictions, "mtp_tokens, predictions", true,
         true, false);
  for (const int length : {0, -1, -3, 4, 7}) {
    one(
        usual, call, [&](shift& t) { t.length = length; },
        fmt::format("mtp_tokens: 6 tokens in sequences of {}, depth 1",
                    length));
  }
  for (const int length : {1, 6}) {
    one(
        usual, call, [&](shift& t) { t.length = length; }, "");
  }
  for (const int depth : {0, -1}) {
    one(
        usual, call, [&](shift& t) { t.depth = depth; },
        fmt::format("mtp_tokens: 6 tokens in sequences of 3, depth {}", depth));
  }
  for (int i = 0; i < 6; ++i) slots[i] = i;
  struct rows {
    matrix_view<const std::uint16_t> h, next, d_joined, residual;
    codes_in w_h, w_next, rstd_h, rstd_next;
    matrix_view<std::uint16_t> joined, dh, d_next;
    codes_out to_rstd_h, to_rstd_next, dw_h, dw_next;
  };
  std::uint16_t* const halves = out_half;
  const rows both{
      {half, 3, 4},         {half, 3, 4},         {half, 3, 8},
      {half, 3, 4},         {word, 1, 4},         {word, 1, 4},
      {word, 3, 1},         {word, 3, 1},         {halves, 3, 8},
      {halves + 100, 3, 4}, {halves + 200, 3, 4}, {out, 3, 1},
      {out + 100, 3, 1},    {out + 200, 1, 4},    {out + 300, 1, 4}};
  const auto forward = [&](const rows& t) {
    f.mtp_input({t.h, t.next, t.w_h, t.w_next}, 0x358637bd, t.joined,
                t.to_rstd_h, t.to_rstd_next);
  };
  const auto backward = [&](const rows& t) {
    f.mtp_input_backward({t.h, t.next, t.w_h, t.w_next},
                         {t.d_joined, t.rstd_h, t.rstd_next, t.residual, t.dh,
                          t.d_next, t.dw_h, t.dw_next});
  };
  const auto inputs = [&](const auto& pass) {
    one(
        both, pass, [](auto&) {}, "");
    shapes(both, pass, &rows::h, "mtp_input, h", false, false, true);
    shapes(both, pass, &rows::next, "mtp_input, next", true, true, true);
    shapes(both, pass, &rows::w_h, "mtp_input, w_h", true, true, true);
    shapes(both, pass, &rows::w_next, "mtp_input, w_next", true, true, true);
  };
  inputs(forward);
  inputs(backward);
  shapes(both, forward, &rows::joined, "mtp_input, joined", true, true, true);
  shapes(both, forward, &rows::to_rstd_h, "mtp_input, rstd_h", true, true,
         false);
  shapes(both, forward, &rows::to_rstd_next, "mtp_input, rstd_next", true, true,
         false);
  const std::string name = "mtp_input_backward, ";
  shapes(both, backward, &rows::d_joined, name + "d_joined", true, true, true);
  shapes(both, backward, &rows::rstd_h, name + "rstd_h", true, true, false);
  shapes(both, backward, &rows::rstd_next, name + "rstd_next", true, true,
         false);
  shapes(both, backward, &rows::residual, name + "residual", true, true, true);
  shapes(both, backward, &rows::dh, name + "dh", true, true, true);
  shapes(both, backward, &rows::d_next, name + "d_next", true, true, true);
  shapes(both, backward, &rows::dw_h, name + "dw_h", true, true, true);
  shapes(both, backward, &rows::dw_next, name + "dw_next", true, true, true);
  one(
      both, backward, [](rows& t) { t.residual = {}; }, "");
}

}  // namespace zeroulp::conformance::model_refusals
