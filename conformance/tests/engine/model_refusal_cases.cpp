// What a model's operators, but for those of experts, say of shapes, indices
// and settings that do not fit, and what they take at the limits.

#include "conformance/tests/engine/model_refusal_parts.hpp"
#include "conformance/tests/engine/model_refusals.hpp"

namespace zeroulp::conformance::model_refusals {

void requests::logs() {
  struct pair {
    codes_in x;
    codes_out out;
  };
  const pair usual{{word, 3, 4}, {out, 3, 4}};
  const auto call = [&](const pair& p) { f.log(p.x, p.out); };
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &pair::x, "log, x", false, false, true);
  shapes(usual, call, &pair::out, "log, output", true, true, true);
  // Of one column no element is beside another.
  one(
      usual, call,
      [&](pair& p) {
        p.x = apart<const std::uint32_t>(word, 3, 1);
        p.out = {out, 3, 1};
      },
      "");
  one(
      usual, call,
      [&](pair& p) {
        p.x = apart<const std::uint32_t>(word, 3, 2);
        p.out = {out, 3, 2};
      },
      "log, x: elements of a row are 2 apart");
}

void requests::norms() {
  using t = rms_norm_gradients;
  const t usual{{half, 3, 4}, {half, 3, 4},     {word, 1, 4}, {word, 3, 1},
                {half, 3, 4}, {out_half, 3, 4}, {out, 1, 4}};
  const auto& call = f.rms_norm_backward;
  const std::string name = "rms_norm_backward, ";
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &t::x, name + "x", false, false, true);
  shapes(usual, call, &t::dy, name + "dy", true, true, true);
  shapes(usual, call, &t::w, name + "w", true, true, true);
  shapes(usual, call, &t::rstd, name + "rstd", true, true, true);
  shapes(usual, call, &t::residual, name + "residual", true, true, true);
  shapes(usual, call, &t::dx, name + "dx", true, true, true);
  shapes(usual, call, &t::dw, name + "dw", true, true, true);
  one(
      usual, call, [](t& x) { x.dx = {}; }, "");
  one(
      usual, call, [](t& x) { x.dw = {}; }, "");
}

void requests::ropes() {
  using t = rope_rows;
  const t usual{rope_pairs::halves, false,        2,
                {half, 3, 8},       {word, 3, 2}, {word, 3, 2},
                {out_half, 3, 8}};
  const auto& call = f.rope;
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &t::x, "rope, x", false, true, true);
  shapes(usual, call, &t::y, "rope, y", true, true, true);
  shapes(usual, call, &t::sines, "rope, sines", true, true, true);
  shapes(usual, call, &t::cosines, "rope, cosines", false, false, true);
  for (const int heads : {0, -1}) {
    one(
        usual, call, [&](t& x) { x.heads = heads; }, "rope: no heads");
  }
  one(
      usual, call,
      [](t& x) {
        x.heads = 1;
        x.x.cols = x.y.cols = 4;
      },
      "");
  const auto positions = [](std::ptrdiff_t rows, std::ptrdiff_t count) {
    return [=](t& x) {
      x.x.rows = x.y.rows = rows;
      x.cosines.rows = x.sines.rows = count;
    };
  };
  for (const int rows : {1, 3}) {
    one(usual, call, positions(rows, 0), "rope, cosines: no positions");
    one(usual, call, positions(rows, 1), "");
  }
  one(usual, call, positions(0, 0), "");
  one(usual, call, positions(0, 3), "");
  // Rows of nothing.
  one(
      usual, call,
      [](t& x) { x.x.cols = x.y.cols = x.cosines.cols = x.sines.cols = 0; },
      "");
}

void requests::tables() {
  constexpr std::ptrdiff_t last = std::ptrdiff_t{1} << 20;
  const auto frequency = [&](std::ptrdiff_t n, std::ptrdiff_t i,
                             const std::string& expected) {
    const auto said = error_of([&] { f.rope_frequency(n, i); });
    all.push_back({said == "no error" ? "" : said, expected});
  };
  for (const int n : {0, 1, 3, 96, 130, 256, -2}) {
    frequency(n, 0, fmt::format("rope_frequency: pair 0 of {} elements", n));
  }
  for (const int n : {2, 128}) {
    frequency(n, 0, "");
    frequency(n, n / 2 - 1, "");
    frequency(n, n / 2, fmt::format("rope_frequency: pair {} of", n / 2));
    frequency(n, -1, "rope_frequency: pair -1 of");
  }
  struct table {
    std::vector<double> frequencies;
    std::ptrdiff_t first;
    codes_out cosines, sines;
  };
  const table usual{{1, 0.5}, 7, {out, 3, 2}, {out + 100, 3, 2}};
  const auto call = [&](const table& t) {
    f.rope_table(t.frequencies, t.first, t.cosines, t.sines);
  };
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &table::cosines, "rope_table, cosines", false, true,
         false);
  shapes(usual, call, &table::sines, "rope_table, sines", true, true, false);
  for (const double x : {-0x1p-1074, -1.0, 0x1.0000000000001p0, 2.0,
                         double{INFINITY}, double{NAN}}) {
    one(
        usual, call, [&](table& t) { t.frequencies[1] = x; },
        "rope_table: frequency 1 is ");
    one(
        usual, call, [&](table& t) { t.frequencies[0] = x; },
        "rope_table: frequency 0 is ");
  }
  for (const std::ptrdiff_t first : {std::ptrdiff_t{-1}, last - 1, last + 1}) {
    one(
        usual, call, [&](table& t) { t.first = first; },
        fmt::format("rope_table: 3 positions from {} on", first));
  }
  for (const std::ptrdiff_t first : {std::ptrdiff_t{0}, last - 2}) {
    one(
        usual, call, [&](table& t) { t.first = first; }, "");
  }
  for (const std::ptrdiff_t rows : {0, 1, 2}) {
    one(
        usual, call,
        [&](table& t) {
          t.first = last;
          t.cosines.rows = t.sines.rows = rows;
        },
        rows < 2 ? "" : "rope_table: 2 positions from 1048576 on");
  }
  one(
      usual, call,
      [&](table& t) {
        t.first = last + 1;
        t.cosines.rows = t.sines.rows = 0;
      },
      "rope_table: 0 positions from 1048577 on");
}

void requests::attention() {
  struct passes {
    attention_shape shape;
    matrix_view<const std::uint16_t> q, k, v, d_o;
    matrix_view<std::uint16_t> o;
    codes_out largest, inverse;
    codes_in kept_o, kept_largest, kept_inverse;
    matrix_view<std::uint16_t> dq, dk, dv;
  };
  std::uint16_t* const gradients = out_half;
  const passes usual{{3, 2, 4, 5, 0x3f800000},
                     {half, 6, 8},
                     {half, 6, 8},
                     {half, 6, 10},
                     {half, 6, 10},
                     {gradients, 6, 10},
                     {out, 6, 2},
                     {out + 100, 6, 2},
                     {word, 6, 10},
                     {word, 6, 2},
                     {word, 6, 2},
                     {gradients + 100, 6, 8},
                     {gradients + 200, 6, 8},
                     {gradients + 300, 6, 10}};
  const auto forward = [&](const passes& p) {
    f.attention_forward(p.shape, {p.q, p.k, p.v}, p.o, p.largest, p.inverse);
  };
  const auto backward = [&](const passes& p) {
    f.attention_backward(p.shape, {p.q, p.k, p.v},
                         {p.kept_o, p.kept_largest, p.kept_inverse}, p.d_o,
                         {p.dq, p.dk, p.dv});
  };
  const auto both = [&](const auto& call, const std::string& what) {
    one(
        usual, call, [](auto&) {}, "");
    shapes(usual, call, &passes::q, "attention, q", false, true, true);
    shapes(usual, call, &passes::k, "attention, k", true, true, true);
    shapes(usual, call, &passes::v, "attention, v", true, true, true);
    one(
        usual, call, [](passes& p) { p.q.rows = 5; },
        what + ": 5 tokens in sequences of 3, 2 heads of 4 and 5");
    one(
        usual, call, [](passes& p) { p.q.rows = 7; }, what + ": 7 tokens");
    for (const auto field :
         {&attention_shape::length, &attention_shape::heads,
          &attention_shape::depth, &attention_shape::value_depth}) {
      for (const int value : {0, -1}) {
        one(
            usual, call, [&](passes& p) { p.shape.*field = value; },
            what + ": 6 tokens");
      }
    }
    for (const std::uint32_t scale :
         {0u, 0x7f800000u, 0x7f800001u, 0x80000000u, 0xbf800000u}) {
      one(
          usual, call, [&](passes& p) { p.shape.scale = scale; },
          what + ": the scores' scale");
    }
    for (const std::uint32_t scale : {1u, 0x7f7fffffu}) {
      one(
          usual, call, [&](passes& p) { p.shape.scale = scale; }, "");
    }
    // One of everything.
    one(
        usual, call,
        [](passes& p) {
          p.shape = {1, 1, 1, 1, 0x3f800000};
          const auto cut = [](auto&... x) {
            ((x.rows = x.cols = 1, x.row_stride = 1), ...);
          };
          cut(p.q, p.k, p.v, p.d_o, p.o, p.largest, p.inverse, p.kept_o,
              p.kept_largest, p.kept_inverse, p.dq, p.dk, p.dv);
        },
        "");
  };
  both(forward, "attention_forward");
  both(backward, "attention_backward");
  shapes(usual, forward, &passes::o, "attention_forward, o", true, true, true);
  shapes(usual, forward, &passes::largest, "attention_forward, largest", true,
         true, true);
  shapes(usual, forward, &passes::inverse, "attention_forward, inverse", true,
         true, true);
  const std::string name = "attention_backward, ";
  shapes(usual, backward, &passes::d_o, name + "dO", true, true, true);
  shapes(usual, backward, &passes::kept_o, name + "o", true, true, true);
  shapes(usual, backward, &passes::kept_largest, name + "largest", true, true,
         true);
  shapes(usual, backward, &passes::kept_inverse, name + "inverse", true, true,
         true);
  shapes(usual, backward, &passes::dq, name + "dq", true, true, true);
  shapes(usual, backward, &passes::dk, name + "dk", true, true, true);
  shapes(usual, backward, &passes::dv, name + "dv", true, true, true);
}

void requests::losses() {
  using t = cross_entropy_rows;
  const t usual{{word, 3, 4}, {index, 3, 1},    fp32_one,
                {out, 3, 1},  {out_half, 3, 4}, {}};
  const auto& call = f.cross_entropy;
  const std::string name = "cross_entropy, ";
  one(
      usual, call, [](auto&) {}, "");
  one(
      usual, call, [](t& x) { x.dlogits = {}; }, "");
  shapes(usual, call, &t::logits, name + "logits", false, false, true);
  shapes(usual, call, &t::targets, name + "targets", true, true, false);
  shapes(usual, call, &t::losses, name + "losses", true, true, false);
  shapes(usual, call, &t::dlogits, name + "dlogits", true, true, true);
  places(usual, call, name + "targets", {0, 2}, 1, -1, 3);
  struct column {
    codes_in x;
  };
  const column many{{word, 3, 1}};
  const auto sum = [&](const column& c) { f.sum_of_losses(c.x); };
  one(
      many, sum, [](auto&) {}, "");
  shapes(many, sum, &column::x, "sum_of_losses", false, true, false);
}

void requests::sums() {
  struct shards {
    std::size_t count;
    codes_in last;
    codes_out sum;
  };
  const shards usual{2, {word, 3, 4}, {out, 3, 4}};
  const auto call = [&](const shards& s) {
    std::vector<codes_in> each(s.count, codes_in(word, 3, 4));
    if (s.count > 0) each.back() = s.last;
    f.add_shards(each, s.sum);
  };
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &shards::last, "add_shards, a shard", true, true, true);
  shapes(usual, call, &shards::sum, "add_shards, output", false, false, true);
  for (const std::size_t n : {0u, 3u, 5u, 6u, 7u, 12u}) {
    one(
        usual, call, [&](shards& s) { s.count = n; },
        fmt::format("add_shards: {} shards, not a power of two", n));
  }
  for (const std::size_t n : {1u, 4u, 16u}) {
    one(
        usual, call, [&](shards& s) { s.count = n; }, "");
  }
  const auto squares = [&](const shards& s) { f.sum_of_squares(s.last); };
  one(
      usual, squares, [](auto&) {}, "");
  shapes(usual, squares, &shards::last, "sum_of_squares", false, false, true);
}

void requests::averages() {
  struct update {
    codes_in weights;
    codes_out average;
  };
  const update usual{{word, 3, 4}, {out, 3, 4}};
  const auto call = [&](const update& u) {
    f.update_average(u.weights, fp32_one, u.average);
  };
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &update::average, "update_average, average", false, false,
         true);
  shapes(usual, call, &update::weights, "update_average, weights", true, true,
         true);
  one(
      usual, call, [](update& u) { u.weights.rows = u.average.rows = 0; }, "");
}

}  // namespace zeroulp::conformance::model_refusals

namespace zeroulp::conformance {

std::string wrong_model_refusal(const model_functions& f) {
  model_refusals::requests r{f};
  r.logs();
  r.norms();
  r.ropes();
  r.tables();
  r.attention();
  r.latent_attention();
  r.routers();
  r.biases();
  r.balances();
  r.plans();
  r.slot_gradients_of();
  r.losses();
  r.sums();
  r.averages();
  r.pipelines();
  r.micro_batches();
  r.replicas();
  r.indexers();
  r.predictions();
  for (const auto& x : r.all) {
    const bool right =
        x.expected.empty() ? x.said.empty() : x.said.rfind(x.expected, 0) == 0;
    if (!right) return fmt::format("'{}', not '{}'", x.said, x.expected);
  }
  return "";
}

}  // namespace zeroulp::conformance
