// What a model's operators say of shapes, indices and settings that do not fit,
// and what they take at the limits.

#include "conformance/tests/engine/engine_case_parts.hpp"
#include "conformance/tests/engine/model_refusals.hpp"

namespace zeroulp::conformance {
namespace {

/// A request, and the beginning of what is said of it; "" where it is served.
struct refusal {
  std::string said;
  std::string expected;
};
using refusals = std::vector<refusal>;

/// Matrices of ones, or zeros, that nobody compares.
template <class T>
class room {
 public:
  explicit room(T value = 0) : data_(4096, value) {}
  operator T*() { return data_.data(); }

 private:
  std::vector<T> data_;
};

/// The functions, and memory for what they read and write.
struct requests {
  const model_functions& f;
  room<std::uint16_t> half{}, out_half{};
  room<std::uint32_t> word{0x3f800000}, out{};
  room<std::int32_t> index{}, out_index{}, slots{}, ends{};
  refusals all{};

  template <class T>
  static matrix_view<T> apart(T* data, std::ptrdiff_t m, std::ptrdiff_t n) {
    return {data, m, n, 2 * n, 2};
  }

  /// `change` of `usual` is refused so.
  template <class T, class Call, class Change>
  void one(T usual, const Call& call, const Change& change,
           std::string expected) {
    change(usual);
    const std::string said = error_of([&] { call(usual); });
    all.push_back({said == "no error" ? "" : said, std::move(expected)});
  }

  /// A matrix of each other shape, and of elements that are apart, is refused
  /// by its name. `fixed`: how many of rows and columns follow from others.
  template <class T, class Call, class Matrix>
  void shapes(const T& usual, const Call& call, Matrix T::*which,
              const std::string& name, bool rows, bool cols, bool adjacent) {
    const auto shape = [&](std::ptrdiff_t m, std::ptrdiff_t n) {
      one(
          usual, call,
          [&](T& t) {
            (t.*which).rows += m;
            (t.*which).cols += n;
          },
          name + ": ");
    };
    if (rows) shape(1, 0);
    if (rows) shape(-1, 0);
    if (cols) shape(0, 1);
    if (cols) shape(0, -1);
    if (!adjacent || (usual.*which).cols < 2) return;
    one(
        usual, call,
        [&](T& t) {
          (t.*which) = apart((t.*which).data, (t.*which).rows, (t.*which).cols);
        },
        name + ": elements of a row are 2 apart, not adjacent");
  }

  void logs();
  void norms();
  void ropes();
  void tables();
  void attention();
  void routers();
  void biases();
  void plans();
  void slot_gradients_of();
  void losses();
  void sums();
};

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

void requests::routers() {
  struct forward {
    router r;
    codes_in logits, bias;
    codes_out scores, weights;
    matrix_view<std::int32_t> experts;
  };
  const forward usual{
      {router_score::sigmoid, 2, 2, 1, group_score::max, true, fp32_one},
      {word, 3, 6},
      {word, 1, 6},
      {out, 3, 6},
      {out + 100, 3, 2},
      {out_index, 3, 2}};
  const auto call = [&](const forward& x) {
    f.route(x.r, {x.logits, x.bias, x.scores, x.experts, x.weights, {}});
  };
  one(
      usual, call, [](auto&) {}, "");
  one(
      usual, call, [](forward& x) { x.bias = {}; }, "");
  shapes(usual, call, &forward::logits, "route, logits", false, false, true);
  shapes(usual, call, &forward::bias, "route, bias", true, true, true);
  shapes(usual, call, &forward::scores, "route, scores", true, true, true);
  shapes(usual, call, &forward::experts, "route, experts", true, true, true);
  shapes(usual, call, &forward::weights, "route, weights", true, true, true);
  struct backward {
    router r;
    codes_in scores, dweights;
    codes_out dlogits;
    matrix_view<const std::int32_t> experts;
  };
  const backward back{
      usual.r, {word, 3, 6}, {word, 3, 2}, {out, 3, 6}, {index, 3, 2}};
  const auto call_back = [&](const backward& x) {
    f.route_backward(x.r, {x.scores, x.experts, x.dweights, x.dlogits});
  };
  const std::string name = "route_backward, ";
  one(
      back, call_back, [](auto&) {}, "");
  shapes(back, call_back, &backward::scores, name + "scores", false, false,
         true);
  shapes(back, call_back, &backward::experts, name + "experts", true, true,
         true);
  shapes(back, call_back, &backward::dweights, name + "dweights", true, true,
         true);
  shapes(back, call_back, &backward::dlogits, name + "dlogits", true, true,
         true);
  // Each place of an index, and both ends of the range.
  for (const int at : {0, 1, 2, 3, 4, 5}) {
    for (const int value : {-1, 6, 7}) {
      index[at] = value;
      one(
          back, call_back, [](auto&) {},
          fmt::format("{}experts ({}, {}): {}, but 0 to 5 are there", name,
                      at / 2, at % 2, value));
    }
    for (const int value : {5, 0}) {
      index[at] = value;
      one(
          back, call_back, [](auto&) {}, "");
    }
  }
  // Settings that no router has: {top, groups, kept}, experts.
  struct row {
    int top, groups, kept, experts;
    bool right;
  };
  static constexpr row rows[] = {
      {0, 1, 1, 6, false}, {-1, 1, 1, 6, false}, {7, 1, 1, 6, false},
      {6, 1, 1, 6, true},  {4, 2, 1, 6, false},  {3, 2, 1, 6, true},
      {4, 2, 2, 6, true},  {1, 0, 1, 6, false},  {1, -1, 1, 6, false},
      {1, 4, 1, 6, false}, {1, 2, 0, 6, false},  {1, 2, -1, 6, false},
      {1, 2, 3, 6, false}, {1, 1, 1, 1, true},   {1, 1, 1, 0, false},
      {6, 6, 6, 6, true},  {7, 6, 6, 6, false},  {5, 5, 5, 6, false},
      {1, 6, 1, 6, true},  {6, 3, 3, 6, true}};
  for (const row& s : rows) {
    const auto with = [&](auto& x) {
      x.r.top = s.top;
      x.r.groups = s.groups;
      x.r.kept = s.kept;
    };
    const std::string what =
        s.right ? ""
                : fmt::format("{} experts in {} groups", s.experts, s.groups);
    one(
        usual, call,
        [&](forward& x) {
          with(x);
          x.logits = {word, 3, s.experts};
          x.bias = {};
          x.scores = {out, 3, s.experts};
          x.experts = {out_index, 3, s.top};
          x.weights = {out + 100, 3, s.top};
        },
        s.right ? "" : "route: " + what);
    one(
        back, call_back,
        [&](backward& x) {
          with(x);
          x.scores = {word, 3, s.experts};
          x.dlogits = {out, 3, s.experts};
          x.experts = {index, 3, s.top};
          x.dweights = {word, 3, s.top};
        },
        s.right ? "" : "route_backward: " + what);
  }
}

void requests::biases() {
  struct update {
    slots_in experts;
    codes_out bias;
  };
  const update usual{{index, 3, 2}, {out, 1, 4}};
  const auto call = [&](const update& x) {
    f.update_bias(x.experts, fp32_one, x.bias);
  };
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &update::bias, "update_bias, bias", true, false, false);
  for (const int at : {0, 5}) {
    for (const int value : {-1, 4}) {
      index[at] = value;
      one(
          usual, call, [](auto&) {},
          fmt::format("update_bias, experts ({}, {}): {}, but 0 to 3", at / 2,
                      at % 2, value));
    }
    index[at] = 3;
    one(
        usual, call, [](auto&) {}, "");
    index[at] = 0;
  }
}

void requests::plans() {
  using t = expert_plan;
  // 6 slots, 4 experts, rows aligned to 2.
  const t usual{
      {index, 3, 2}, 2, {out_index, 10, 1}, {slots, 3, 2}, {ends, 5, 1}};
  const auto& call = f.make_plan;
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &t::slots, "make_plan, slots", true, true, false);
  shapes(usual, call, &t::ends, "make_plan, ends", false, true, false);
  for (const int rows : {9, 0}) {
    one(
        usual, call, [&](t& p) { p.rows.rows = rows; },
        fmt::format("make_plan, rows: {} x 1, but 10 x 1 hold", rows));
  }
  for (const int cols : {0, 2}) {
    one(
        usual, call, [&](t& p) { p.rows.cols = cols; },
        fmt::format("make_plan, rows: 10 x {}, but", cols));
  }
  one(
      usual, call, [](t& p) { p.rows.rows = 11; }, "");
  for (const std::ptrdiff_t align :
       {std::ptrdiff_t{0}, std::ptrdiff_t{-1}, std::ptrdiff_t{0x80000000}}) {
    one(
        usual, call, [&](t& p) { p.align = align; },
        "make_plan: rows are aligned to 1 or more");
  }
  one(
      usual, call, [](t& p) { p.align = 1; }, "");
  one(
      usual, call, [](t& p) { p.align = 0x7fffffff; },
      "make_plan, rows: 10 x 1, but 8589934590 x 1 hold");
  one(
      usual, call, [](t& p) { p.ends.rows = 0; },
      "make_plan: rows are aligned to 1 or more");
  // 2^31 rows: no memory is touched.
  one(
      usual, call,
      [](t& p) {
        p.align = 0x7ffffffb;
        p.ends.rows = 2;
        p.rows.rows = std::ptrdiff_t{1} << 32;
      },
      "make_plan: more rows than 2^31 - 1");
  // No experts: no slots.
  one(
      usual, call,
      [](t& p) {
        p.ends.rows = 1;
        p.experts.rows = p.slots.rows = 0;
      },
      "");
  one(
      usual, call,
      [](t& p) {
        p.ends.rows = 1;
        p.experts.cols = p.slots.cols = 0;
      },
      "");
  one(
      usual, call, [](t& p) { p.ends.rows = 1; },
      "make_plan, experts (0, 0): 0, but 0 to -1");
  for (const int at : {0, 5}) {
    for (const int value : {-1, 4}) {
      index[at] = value;
      one(
          usual, call, [](auto&) {},
          fmt::format("make_plan, experts ({}, {}): {}, but 0 to 3", at / 2,
                      at % 2, value));
    }
    index[at] = 3;
    one(
        usual, call, [](auto&) {}, "");
    index[at] = 0;
  }
}

void requests::slot_gradients_of() {
  using t = slot_gradients;
  // Slots of rows 0 to 5 of 7.
  const t usual{{half, 3, 4}, {slots, 3, 2},    {word, 3, 2},
                {half, 7, 4}, {out_half, 7, 4}, {out, 3, 2}};
  for (int i = 0; i < 6; ++i) slots[i] = i;
  const auto& call = f.slot_backward;
  const std::string name = "slot_backward, ";
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &t::dy, name + "dy", false, false, true);
  shapes(usual, call, &t::slots, name + "slots", true, false, false);
  shapes(usual, call, &t::weights, name + "weights", true, true, false);
  shapes(usual, call, &t::y, name + "y", true, true, true);
  shapes(usual, call, &t::d_rows, name + "rows of gradients", false, true,
         true);
  shapes(usual, call, &t::dweights, name + "gradients of weights", true, true,
         false);
  const auto without_rows = [](t& x) { x.d_rows = {}; };
  const auto without_weights = [](t& x) {
    x.y = {};
    x.dweights = {};
  };
  one(usual, call, without_rows, "");
  one(usual, call, without_weights, "");
  // Nothing to write: indices are not read.
  slots[0] = 99;
  one(
      usual, call,
      [&](t& x) {
        without_rows(x);
        without_weights(x);
      },
      "");
  slots[0] = 0;
  for (const auto& change : {std::function<void(t&)>([](t&) {}),
                             std::function<void(t&)>(without_rows),
                             std::function<void(t&)>(without_weights)}) {
    for (const int at : {0, 5}) {
      for (const int value : {-2, 7}) {
        slots[at] = value;
        one(usual, call, change,
            fmt::format("{}slots ({}, {}): {}, but -1 to 6 are there", name,
                        at / 2, at % 2, value));
      }
      for (const int value : {-1, 6, at}) {
        slots[at] = value;
        one(usual, call, change, "");
      }
    }
  }
  // A row of two slots, where rows are written.
  for (const int row : {0, 4}) {
    const int at = row == 0 ? 5 : 0;
    slots[at] = row;
    const auto both =
        fmt::format("{}slots ({}, {}): row {} is another slot's", name,
                    row == 0 ? 2 : 2, row == 0 ? 1 : 0, row);
    one(
        usual, call, [](auto&) {}, both);
    one(usual, call, without_rows, "");
    slots[at] = at;
  }
  slots[0] = slots[5] = -1;
  one(
      usual, call, [](auto&) {}, "");
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
  for (const int at : {0, 2}) {
    for (const int value : {-2, 4}) {
      index[at] = value;
      one(
          usual, call, [](auto&) {},
          fmt::format("{}targets ({}, 0): {}, but -1 to 3 are there", name, at,
                      value));
    }
    for (const int value : {-1, 3, 0}) {
      index[at] = value;
      one(
          usual, call, [](auto&) {}, "");
    }
  }
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

}  // namespace

std::string wrong_model_refusal(const model_functions& f) {
  requests r{f};
  r.logs();
  r.norms();
  r.ropes();
  r.tables();
  r.attention();
  r.routers();
  r.biases();
  r.plans();
  r.slot_gradients_of();
  r.losses();
  r.sums();
  for (const refusal& x : r.all) {
    const bool right =
        x.expected.empty() ? x.said.empty() : x.said.rfind(x.expected, 0) == 0;
    if (!right) return fmt::format("'{}', not '{}'", x.said, x.expected);
  }
  return "";
}

}  // namespace zeroulp::conformance
