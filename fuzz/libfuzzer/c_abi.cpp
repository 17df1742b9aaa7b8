// Fuzzes the C ABI. The first byte selects the function, the rest its
// arguments. These are names, structs with hostile members, matrices of any
// shape and stride, NULL, and memory that is not there.
//
// Every call returns a status. A refusal has one line of text and has written
// nothing. No call writes outside the elements of its outputs, or changes an
// input.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/libfuzzer/c_abi_values.hpp"

namespace zeroulp::fuzz {
namespace {

using call = zeroulp_status (*)(arguments&, source&, const shape&);

zeroulp_status call_names(arguments&, source& s, const shape&) {
  const auto which = static_cast<std::int32_t>(s.below(9));
  const std::int32_t table = s.small();
  const std::string text = s.rarely(2) ? s.text() : name_in(s, which);
  const char* const name = s.rarely(16) ? nullptr : text.c_str();
  zeroulp_name(table, s.number());
  std::int32_t value = 0;
  zeroulp_quantizer q{};
  zeroulp_path p{};
  zeroulp_recipe r{};
  std::vector<char> room(s.below(20));
  switch (which) {
    case 0:
      return zeroulp_value_from_name(table, name, &value);
    case 1:
      return zeroulp_format_from_name(name, s.rarely(8) ? nullptr : &q.from);
    case 2:
      q.from = any_format(s);
      q.from.bias = s.small();
      return zeroulp_format_name(&q.from, room.data(), room.size());
    case 3:
      return zeroulp_policy_from_name(name, &q.how.conversion);
    case 4:
      return zeroulp_group_from_name(name, &q.group);
    case 5:
      return zeroulp_convention_from_name(name, &q.how);
    case 6:
      return zeroulp_path_from_name(name, &p);
    case 7:
      return zeroulp_recipe_from_name(name, &r);
    default:
      return zeroulp_quantizer_from_names(name, name, name, name, name, &q);
  }
}

constexpr call calls[] = {
    call_names,
    [](arguments& a, source& s, const shape& x) {
      const auto* from = a.disturbed(any_format(s));
      const auto* to = a.disturbed(any_format(s));
      zeroulp_policy how{};
      zeroulp_policy_from_name(name_in(s, ZEROULP_POLICIES), &how);
      const auto rounding = s.rarely(4) ? s.small() : 0;
      return zeroulp_recode(from, a.in(x.m, x.n), to, a.out(x.m, x.n), rounding,
                            s.rarely(3) ? a.disturbed(how) : nullptr,
                            s.rarely(3) ? a.in(x.m, x.n) : nullptr);
    },
    [](arguments& a, source& s, const shape& x) {
      const auto operation = s.small() % 7;
      const auto rounding = s.small() % 8;
      return zeroulp_arithmetic(operation, a.disturbed(any_format(s)),
                                a.in(x.m, x.n), a.in(x.m, x.n), a.in(x.m, x.n),
                                a.out(x.m, x.n), rounding, nullptr,
                                s.rarely(3) ? a.in(x.m, x.n) : nullptr);
    },
    [](arguments& a, source& s, const shape& x) {
      const auto q = any_quantizer(s);
      const auto m = groups(x.m, q.group.rows);
      const auto n = groups(x.n, q.group.cols);
      const auto* z = a.disturbed(q);
      switch (s.below(5)) {
        case 0:
          return zeroulp_quantize(z, a.in(x.m, x.n), a.out(x.m, x.n),
                                  a.out(m, n));
        case 1:
          return zeroulp_quantize_by_amax(z, a.in(x.m, x.n), a.in(m, n),
                                          a.out(x.m, x.n), a.out(m, n));
        case 2:
          return zeroulp_group_amaxes(z, a.in(x.m, x.n), a.out(m, n));
        case 3:
          return zeroulp_quantize_by_scale(z, a.in(x.m, x.n), a.in(m, n),
                                           a.out(x.m, x.n));
        default:
          return zeroulp_make_scales(z, a.in(m, n), a.out(m, n),
                                     s.rarely(2) ? a.out(m, n) : nullptr);
      }
    },
    [](arguments& a, source& s, const shape& x) {
      const auto q = any_quantizer(s);
      const auto* by =
          a.in(groups(x.m, q.group.rows), groups(x.n, q.group.cols));
      if (s.rarely(2)) {
        return zeroulp_dequantize_to(a.disturbed(q.to), a.disturbed(q.group),
                                     a.in(x.m, x.n), by, a.disturbed(q.from),
                                     a.out(x.m, x.n));
      }
      return zeroulp_dequantize(a.disturbed(q.to), a.disturbed(q.group),
                                a.in(x.m, x.n), by, a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      const zeroulp_retiling r{format_of("e5m6"),
                               format_of("e4m3"),
                               s.rarely(3) ? s.small() : 0,
                               s.rarely(2) ? 3 : 128,
                               static_cast<std::int32_t>(s.below(2)),
                               {}};
      return zeroulp_retile(a.disturbed(r), a.in(x.m, x.n),
                            a.in(x.m, groups(x.n, r.tile)), a.out(x.n, x.m),
                            a.out(x.n, groups(x.m, r.tile)));
    },
    [](arguments&, source& s, const shape& x) {
      std::vector<std::uint32_t> history(static_cast<std::size_t>(x.m));
      for (auto& h : history) h = s.word();
      std::uint32_t amax = 0;
      const bool none = s.rarely(8);
      const auto count = none ? s.number() : x.m;
      const auto current = s.word();
      const auto rule = s.small();
      return zeroulp_delayed_amax(none ? nullptr : history.data(), count,
                                  current, rule, s.word(),
                                  s.rarely(16) ? nullptr : &amax);
    },
    [](arguments&, source& s, const shape&) {
      std::int64_t rows = 0;
      std::int64_t cols = 0;
      const auto what = s.small();
      const auto mn = s.number();
      if (s.rarely(2)) return zeroulp_packed_bytes(what, mn, &rows);
      return zeroulp_layout_shape(what, mn, s.number(),
                                  s.rarely(16) ? nullptr : &rows, &cols);
    },
    [](arguments& a, source& s, const shape& x) {
      const auto layout =
          s.rarely(8) ? s.small() : static_cast<std::int32_t>(s.below(4));
      std::int64_t rows = 1;
      std::int64_t cols = 1;
      zeroulp_layout_shape(layout, x.m, x.n, &rows, &cols);
      return s.rarely(2) ? zeroulp_read_scales(layout, a.in(rows, cols),
                                               a.out(x.m, x.n))
                         : zeroulp_lay_out_scales(layout, a.in(x.m, x.n),
                                                  a.out(rows, cols));
    },
    [](arguments& a, source& s, const shape& x) {
      const auto packing =
          s.rarely(8) ? s.small() : static_cast<std::int32_t>(s.below(2));
      std::int64_t width = 1;
      zeroulp_packed_bytes(packing, x.n, &width);
      return s.rarely(2) ? zeroulp_unpack(packing, a.in(x.m, width, 1),
                                          a.out(x.m, x.n, 2))
                         : zeroulp_pack(packing, a.in(x.m, x.n, 2),
                                        a.out(x.m, width, 1));
    },
    [](arguments& a, source& s, const shape& x) {
      return zeroulp_step(a.disturbed(any_path(s)), a.in(x.m, x.k),
                          a.in(x.m, x.k), s.rarely(2) ? nullptr : a.in(x.m, 1),
                          a.out(x.m, 1));
    },
    [](arguments& a, source& s, const shape& x) {
      const auto r = any_recipe(s);
      const zeroulp_operand left{
          format_of("e4m3"), a.in_value(x.m, x.k, 1),
          s.rarely(2)
              ? zeroulp_const_matrix{}
              : a.in_value(groups(x.m, r.a.rows), groups(x.k, r.a.cols))};
      const zeroulp_operand right{
          format_of("e4m3"), a.in_value(x.n, x.k, 1),
          s.rarely(2)
              ? zeroulp_const_matrix{}
              : a.in_value(groups(x.n, r.b.rows), groups(x.k, r.b.cols))};
      const auto* c = s.rarely(2) ? nullptr : a.in(x.m, x.n);
      return zeroulp_gemm(a.disturbed(r), &left, &right, c, a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      const auto p = any_path(s);
      const zeroulp_operand left{p.a, a.in_value(x.m, x.k), {}};
      const zeroulp_operand right{p.b, a.in_value(x.n, x.k), {}};
      if (s.rarely(4)) {
        return zeroulp_exact_products(&left, &right, a.out(x.m, x.n, 8));
      }
      const auto* c = s.rarely(2) ? nullptr : a.in(x.m, x.n);
      return zeroulp_multiply(a.disturbed(p), &left, &right, c,
                              a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      zeroulp_comparison found{};
      const auto* f = s.rarely(3) ? nullptr : a.disturbed(any_format(s));
      return zeroulp_compare(f, a.in(x.m, x.n), a.in(x.m, x.n), &found);
    },
    [](arguments& a, source& s, const shape& x) {
      zeroulp_errors errors{};
      return zeroulp_measure_errors(a.in(x.m, x.n, 8), a.in(x.m, x.n, 8),
                                    s.rarely(2) ? nullptr : a.in(x.m, x.n, 8),
                                    &errors);
    },
    [](arguments& a, source& s, const shape&) {
      zeroulp_recipe out{};
      return zeroulp_recipe_for_operands(
          a.disturbed(any_recipe(s)), a.disturbed(any_format(s)),
          a.disturbed(any_format(s)), s.rarely(16) ? nullptr : &out);
    },
    [](arguments&, source& s, const shape&) {
      std::int32_t yes = 0;
      zeroulp_simd_in_use(&yes);
      zeroulp_threads_in_use(&yes);
      return zeroulp_simd_is_supported(s.small(), s.rarely(8) ? nullptr : &yes);
    },
    [](arguments& a, source& s, const shape& x) {
      return zeroulp_apply(s.small() % 4, a.in(x.m, x.n), a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      const zeroulp_swiglu layer{any_quantizer(s), any_quantizer(s)};
      const auto& q = layer.out.group;
      const auto& c = layer.cache.group;
      const auto quantized = [&](const zeroulp_group& g) {
        return zeroulp_quantized{
            a.out_value(x.m, x.n),
            a.out_value(groups(x.m, g.rows), groups(x.n, g.cols))};
      };
      const auto h = quantized(q);
      const auto g = quantized(c);
      const auto u = quantized(c);
      return zeroulp_swiglu_forward(
          a.disturbed(layer), a.in(x.m, x.n), a.in(x.m, x.n),
          s.rarely(3) ? nullptr : a.out(x.m, x.n), s.rarely(3) ? nullptr : &h,
          s.rarely(3) ? nullptr : &g, s.rarely(3) ? nullptr : &u);
    },
    [](arguments& a, source& s, const shape& x) {
      const zeroulp_swiglu layer{any_quantizer(s), any_quantizer(s)};
      const auto& q = layer.out.group;
      const auto& c = layer.cache.group;
      const auto cached = [&] {
        return zeroulp_const_quantized{
            a.in_value(x.m, x.n),
            a.in_value(groups(x.m, c.rows), groups(x.n, c.cols))};
      };
      const auto g = cached();
      const auto u = cached();
      const zeroulp_quantized dg{
          a.out_value(x.m, x.n),
          a.out_value(groups(x.m, q.rows), groups(x.n, q.cols))};
      return zeroulp_swiglu_backward(
          a.disturbed(layer), a.disturbed(any_format(s)), a.in(x.m, x.n), &g,
          &u, s.rarely(3) ? nullptr : a.out(x.m, x.n), a.out(x.m, x.n),
          s.rarely(3) ? nullptr : a.out(x.m, x.n), s.rarely(3) ? nullptr : &dg,
          nullptr);
    },
    [](arguments& a, source& s, const shape& x) {
      const zeroulp_rms_layer layer{format_of("bf16"), format_of("fp32"),
                                    s.word(), any_quantizer(s)};
      const auto& q = layer.out.group;
      const zeroulp_quantized y{
          a.out_value(x.m, x.n),
          a.out_value(groups(x.m, q.rows), groups(x.n, q.cols))};
      return zeroulp_rms_norm(a.disturbed(layer), a.in(x.m, x.n), a.in(1, x.n),
                              s.rarely(3) ? nullptr : a.out(x.m, x.n),
                              s.rarely(3) ? nullptr : a.out(x.m, 1),
                              s.rarely(3) ? nullptr : &y);
    },
    [](arguments& a, source& s, const shape& x) {
      const auto unit = [&s] { return static_cast<double>(s.byte()) / 250; };
      const zeroulp_adamw_settings settings{unit(), unit(), unit(),
                                            unit(), unit(), s.number()};
      zeroulp_adamw_step step{{},
                              any_format(s),
                              any_format(s),
                              static_cast<std::int32_t>(s.below(8))};
      if (zeroulp_make_adamw_factors(&settings, &step.factors) != ZEROULP_OK) {
        demand_one_line(zeroulp_last_error());
      }
      return zeroulp_adamw(a.disturbed(step), s.word(), s.word(),
                           a.in(x.m, x.n), a.out(x.m, x.n), a.out(x.m, x.n),
                           a.out(x.m, x.n),
                           s.rarely(2) ? nullptr : a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      std::vector<std::int32_t> rows(static_cast<std::size_t>(x.m * x.k));
      for (auto& r : rows) r = s.rarely(4) ? s.small() : -1;
      const zeroulp_const_matrix slots{rows.data(), x.m, x.k, x.k, 1, 4};
      if (s.rarely(2)) {
        const zeroulp_const_matrix taken{rows.data(), x.m, 1, x.k, 1, 4};
        const auto q = any_quantizer(s);
        return zeroulp_dispatch(a.disturbed(q), a.in(4, x.n), &taken,
                                a.out(x.m, x.n),
                                a.out(x.m, groups(x.n, q.group.cols)));
      }
      return zeroulp_combine(s.small() % 4, a.in(4, x.n, 2), &slots,
                             s.rarely(2) ? nullptr : a.in(x.m, x.k),
                             a.out(x.m, x.n, 2));
    },
    [](arguments& a, source& s, const shape& x) {
      return zeroulp_rms_norm_backward(
          a.in(x.m, x.n, 2), a.in(x.m, x.n, 2), a.in(1, x.n), a.in(x.m, 1),
          s.rarely(2) ? nullptr : a.in(x.m, x.n, 2),
          s.rarely(3) ? nullptr : a.out(x.m, x.n, 2),
          s.rarely(3) ? nullptr : a.out(1, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      const auto* const r = a.disturbed(any_router(s, x));
      return zeroulp_route(r, a.in(x.m, x.n),
                           s.rarely(2) ? nullptr : a.in(1, x.n),
                           a.out(x.m, x.n), a.out(x.m, x.k), a.out(x.m, x.k));
    },
    [](arguments& a, source& s, const shape& x) {
      const zeroulp_attention layer{x.m, 1, s.word() >> 2};
      return zeroulp_mla_forward(
          s.small() % 3, a.disturbed(layer), a.in(x.m, x.n, 2),
          a.in(x.m, x.k, 2), a.in(x.m, 1, 2), a.in(x.n + 1, x.k, 2),
          a.out(x.m, 2, 2), a.out(x.m, 1), a.out(x.m, 1));
    },
    [](arguments& a, source& s, const shape& x) {
      const std::int64_t stages = s.rarely(3) ? s.number() : 2 * (x.m % 3);
      const std::int64_t count = s.rarely(3) ? s.number() : 4 * (x.m % 3);
      if (s.rarely(2)) {
        return zeroulp_dual_pipe_steps(stages, count, s.small(),
                                       a.out(12 * (x.m % 3), 3));
      }
      return zeroulp_dual_pipe_order(stages, count, s.small(),
                                     a.out(2, 2 * (x.m % 3)));
    },
    [](arguments& a, source& s, const shape& x) {
      std::vector<std::int32_t> rows(static_cast<std::size_t>(x.m * x.k));
      for (auto& r : rows) r = s.rarely(16) ? s.small() : s.byte() % 2;
      const zeroulp_const_matrix chosen{rows.data(), x.m, x.k, x.k, 1, 4};
      const std::int32_t bounds[] = {0, s.small() % 4, 4 + s.small() % 3};
      const zeroulp_const_matrix ends{bounds, 3, 1, 1, 1, 4};
      if (s.rarely(3)) {
        const zeroulp_const_matrix gradients[] = {a.in_value(x.m, x.n),
                                                  a.in_value(x.m, x.n)};
        return zeroulp_accumulate_micro_batches(gradients,
                                                s.rarely(4) ? s.small() % 3 : 2,
                                                &chosen, a.out(x.m, x.n));
      }
      if (s.rarely(2)) {
        return zeroulp_choose_replicas(&chosen, &ends, a.out(x.m, x.k));
      }
      return zeroulp_merge_replicas(&chosen, &chosen, a.out(x.n, 1));
    },
    [](arguments& a, source& s, const shape& x) {
      const std::int64_t first = s.rarely(4) ? s.number() : s.small();
      if (s.rarely(2)) {
        return zeroulp_indexer_keys(a.in(x.m, x.n), first, a.out(x.m, x.k),
                                    a.out(x.m, 1));
      }
      return zeroulp_indexer_logits(a.in(x.m, 2 * x.k, 1), a.in(x.n, x.k, 1),
                                    a.in(x.m, 2), a.in(x.n, 1), a.in(x.m, 2),
                                    first, a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      if (s.rarely(3)) {
        return zeroulp_mtp_tokens(a.in(x.m, 1), s.rarely(3) ? s.number() : x.m,
                                  s.rarely(3) ? s.number() : 1, a.out(x.m, 1),
                                  a.out(x.m, 1));
      }
      if (s.rarely(2)) {
        return zeroulp_mtp_input(
            a.in(x.m, x.n, 2), a.in(x.m, x.n, 2), a.in(1, x.n), a.in(1, x.n),
            s.word(), a.out(x.m, 2 * x.n, 2), a.out(x.m, 1), a.out(x.m, 1));
      }
      return zeroulp_mtp_input_backward(
          a.in(x.m, 2 * x.n, 2), a.in(x.m, x.n, 2), a.in(x.m, x.n, 2),
          a.in(1, x.n), a.in(1, x.n), a.in(x.m, 1), a.in(x.m, 1),
          s.rarely(2) ? nullptr : a.in(x.m, x.n, 2), a.out(x.m, x.n, 2),
          a.out(x.m, x.n, 2), a.out(1, x.n), a.out(1, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      std::vector<std::int32_t> rows(static_cast<std::size_t>(x.m * x.k));
      for (auto& r : rows) r = s.rarely(16) ? s.small() : s.byte() % 2;
      const zeroulp_const_matrix experts{rows.data(), x.m, x.k, x.k, 1, 4};
      const auto* const r = a.disturbed(any_router(s, x));
      if (s.rarely(2)) {
        return zeroulp_balance_loss(s.small() % 3,
                                    s.rarely(4) ? s.number() : x.m, s.word(),
                                    a.in(x.m, x.n), &experts, a.out(1, 1),
                                    s.rarely(3) ? nullptr : a.out(x.m, x.n));
      }
      if (s.rarely(2)) {
        return zeroulp_update_bias(&experts, s.word(), a.out(1, x.n));
      }
      return zeroulp_route_backward(r, a.in(x.m, x.n), &experts, a.in(x.m, x.k),
                                    a.out(x.m, x.n));
    },
    [](arguments& a, source& s, const shape& x) {
      const auto* const shape = a.disturbed(any_attention(s, x));
      return zeroulp_attention_forward(
          shape, a.in(x.m, x.k, 2), a.in(x.m, x.k, 2), a.in(x.m, x.n, 2),
          a.out(x.m, x.n, 2), a.out(x.m, 1), a.out(x.m, 1));
    },
    [](arguments& a, source& s, const shape& x) {
      const auto* const shape = a.disturbed(any_attention(s, x));
      return zeroulp_attention_backward(
          shape, a.in(x.m, x.k, 2), a.in(x.m, x.k, 2), a.in(x.m, x.n, 2),
          a.in(x.m, x.n), a.in(x.m, 1), a.in(x.m, 1), a.in(x.m, x.n, 2),
          a.out(x.m, x.k, 2), a.out(x.m, x.k, 2), a.out(x.m, x.n, 2));
    },
    [](arguments& a, source& s, const shape& x) {
      zeroulp_block_scaled_path p{};
      zeroulp_block_scaled_path_from_name(
          name_in(s, ZEROULP_BLOCK_SCALED_PATHS), &p);
      const auto blocks = groups(x.k, p.block);
      const zeroulp_operand left{p.path.a, a.in_value(x.m, x.k, 1),
                                 a.in_value(x.m, blocks, 1)};
      const zeroulp_operand right{p.path.b, a.in_value(x.n, x.k, 1),
                                  a.in_value(x.n, blocks, 1)};
      const auto* c = s.rarely(2) ? nullptr : a.in(x.m, x.n, 4);
      return zeroulp_multiply_block_scaled(a.disturbed(p), &left, &right, c,
                                           a.out(x.m, x.n, 4));
    },
    [](arguments& a, source& s, const shape& x) {
      const char* const name = name_in(s, ZEROULP_BLOCK_CONVENTIONS);
      std::int32_t kind = 0;
      std::int32_t block = 1;
      zeroulp_block_convention_from_name(name, &kind, &block);
      const auto* const to =
          a.disturbed(s.rarely(2) ? format_of("e2m1") : any_format(s));
      const auto blocks = groups(x.k, block);
      const std::int32_t level = s.small() % 4;
      if (s.rarely(2)) {
        return zeroulp_dequantize_blocks(
            to, kind, block, a.in(x.m, x.k), a.in(x.m, blocks, 1),
            s.rarely(2) ? nullptr : a.in(s.rarely(2) ? 1 : x.m, 1, 4),
            a.disturbed(any_format(s)), a.out(x.m, x.k));
      }
      return zeroulp_quantize_blocks(
          name, a.disturbed(any_format(s)), to, level,
          s.rarely(4) ? s.small() : 448, a.in(x.m, x.k), a.out(x.m, x.k),
          a.out(x.m, blocks, 1),
          a.out(level == ZEROULP_SECOND_ROW ? x.m : 1, 1, 4));
    },
    [](arguments& a, source& s, const shape& x) {
      if (s.rarely(3)) {
        const auto bytes = groups(x.m, 128) * groups(x.n, 4) * 512;
        return s.rarely(2) ? zeroulp_interleave_scales(a.in(x.m, x.n, 1),
                                                       a.out(1, bytes, 1))
                           : zeroulp_separate_scales(a.in(1, bytes, 1),
                                                     a.out(x.m, x.n, 1));
      }
      const char* const name = name_in(s, ZEROULP_BLOCK_RECIPES);
      const std::int32_t block = s.rarely(2) ? 16 : 32;
      const auto f = format_of(s.rarely(2) ? "e2m1" : "e4m3");
      const auto blocks = groups(x.k, block);
      const zeroulp_operand left{f, a.in_value(x.m, x.k, 1),
                                 a.in_value(x.m, blocks, 1)};
      const zeroulp_operand right{f, a.in_value(x.n, x.k, 1),
                                  a.in_value(x.n, blocks, 1)};
      const auto second = [&](std::int64_t rows) {
        return s.rarely(2) ? nullptr : a.in(s.rarely(2) ? 1 : rows, 1, 4);
      };
      const auto* const by_a = second(x.m);
      const auto* const by_b = second(x.n);
      const auto* const c = s.rarely(2) ? nullptr : a.in(x.m, x.n, 4);
      return zeroulp_gemm_block_scaled(name, &left, by_a, &right, by_b, c,
                                       a.disturbed(any_format(s)),
                                       a.out(x.m, x.n, 4));
    },
    [](arguments& a, source& s, const shape& x) {
      if (s.rarely(4)) {
        return zeroulp_random_words(s.small(), s.small(), s.word(), s.word(),
                                    a.out(x.m, x.k, 4));
      }
      if (s.rarely(2)) {
        const zeroulp_hadamard_transform t{any_format(s),
                                           any_format(s),
                                           s.rarely(4) ? s.small() : 16,
                                           s.rarely(2) ? s.word() : 0,
                                           {}};
        zeroulp_path p{};
        zeroulp_path_from_name(name_in(s, ZEROULP_PATHS), &p);
        std::vector<std::int32_t> signs(1024, s.rarely(8) ? s.small() : -1);
        const auto k = groups(x.k, 16) * 16;
        return zeroulp_hadamard(
            a.disturbed(t), s.rarely(2) ? a.disturbed(p) : nullptr,
            s.rarely(2) ? signs.data() : nullptr, a.in(x.m, k), a.out(x.m, k));
      }
      const char* const name = name_in(s, ZEROULP_BLOCK_CONVENTIONS);
      std::int32_t kind = 0;
      std::int32_t block = 1;
      zeroulp_block_convention_from_name(name, &kind, &block);
      const std::int32_t level = s.small() % 4;
      const zeroulp_block_quantizer q{
          name,  any_format(s), s.rarely(2) ? format_of("e2m1") : any_format(s),
          level, 448,           s.rarely(2) ? 16 : s.small(),
          {}};
      return zeroulp_quantize_blocks_by(
          &q, a.in(x.m, x.k), s.rarely(2) ? nullptr : a.in(x.m, x.k, 4),
          a.out(x.m, x.k), a.out(x.m, groups(x.k, block), 1),
          a.out(level == ZEROULP_SECOND_ROW ? x.m : 1, 1, 4));
    },
};

void check(const std::uint8_t* data, std::size_t size) {
  source s(data, size);
  arguments a(s);
  const call f = calls[s.byte() % std::size(calls)];
  const shape x{a.extent(), a.extent(), a.extent()};
  a.check(f(a, s, x));
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  zeroulp::fuzz::check(data, size);
  return 0;
}
