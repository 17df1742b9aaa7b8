// gemm: D = A B^T of two quantized tensors, by a recipe.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/gemm/block_gemm.hpp"
#include "tools/zeroulp/gemm/gemm_gpu.hpp"
#include "tools/zeroulp/gemm/like.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/tensor/recipe_json.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::program {
namespace {

struct gemm_request {
  std::string a;
  std::string b;
  std::string recipe = "deepgemm.1d2d";
  std::string like;
  std::string c;
  std::string interval;
  std::string output;
  std::optional<int> splits;
  std::string like_source;  ///< where the recipe is from
  std::string convention;   ///< of recipes with block scales, as the next two
  std::string second;
  std::string dtype;
  std::string out;
  bool gpu = false;
  bool as_json = false;
};

/// A tensor as a GEMM reads it: mn x k codes and scales.
struct operand {
  matrix<std::uint32_t> words;  ///< what `codes` are of
  matrix_view<const std::uint32_t> codes;
  matrix_view<const std::uint32_t> scales;
  granularity groups;
};

/// Column tiles (such as 128x1) have K along their rows: such a tensor is read
/// as its transpose.
operand as_operand(const tensor& t) {
  const bool transposed = t.group.cols == 1 && t.group.rows != 1;
  const auto turn = [transposed](auto view) {
    return transposed ? view.transposed() : view;
  };
  const granularity g = transposed ? granularity{t.group.cols, t.group.rows}
                                   : granularity{t.group.rows, t.group.cols};
  operand o{widen(t.codes), {}, turn(t.scales.view()), g};
  o.codes = turn(std::as_const(o.words).view());
  return o;
}

std::string text_of(granularity g) {
  return g == per_tensor ? "tensor" : fmt::format("{}x{}", g.mn, g.k);
}

recipe choose_recipe(const gemm_request& q) {
  const auto found = recipe_json().find(q.recipe);
  recipe r = found.value;
  if (found.is_own && !is_valid(r)) {
    throw input_error(fmt::format(
        "{}: no valid recipe: the interval is a multiple of the accumulator's "
        "step, {}; scales change along K at multiples of the interval, and not "
        "with update add (SPEC G2)",
        q.recipe, r.acc.length));
  }
  if (!q.interval.empty()) r.interval = parse_interval(q.interval, 1);
  if (q.splits && *q.splits < 1) {
    throw input_error(
        fmt::format("--splits {}: use 1 or more ranges of K", *q.splits));
  }
  if (q.splits) r.splits = *q.splits;
  if (!q.output.empty()) {
    r.output = parse_format(q.output);
    if (!(r.output == fp32 || r.output == bf16)) {
      throw input_error(fmt::format("--output {}: use fp32 or bf16", q.output));
    }
  }
  if (!q.c.empty()) r.end = epilogue::accumulate;
  return r;
}

/// Named recipes are valid; another interval may not be.
void check_interval(const recipe& r, const gemm_request& q) {
  if (is_valid(r)) return;
  if (r.acc.length == 0) {
    throw input_error(
        fmt::format("--interval {}: {} takes none", q.interval, q.recipe));
  }
  const int groups = std::max(r.a.k, r.b.k);
  throw input_error(fmt::format(
      "--interval {}: {} takes multiples of its step, {}{}", q.interval,
      q.recipe, r.acc.length,
      groups == 0
          ? ", and none"
          : fmt::format(", that divide its groups of {} along K", groups)));
}

/// What a scale covers of `count` elements.
std::ptrdiff_t covered(std::int32_t group, std::ptrdiff_t count) {
  return group == 0 ? count : std::min<std::ptrdiff_t>(group, count);
}

/// Groups of a recipe, or those that cover an operand of this shape alike.
void check_groups(const operand& x, granularity wanted, const std::string& dir,
                  const std::string& name) {
  const auto rows = x.codes.rows;
  const auto k = x.codes.cols;
  if (covered(x.groups.mn, rows) == covered(wanted.mn, rows) &&
      covered(x.groups.k, k) == covered(wanted.k, k)) {
    return;
  }
  throw input_error(fmt::format("{}: scales of {}, but recipe {} needs {}", dir,
                                text_of(x.groups), name, text_of(wanted)));
}

/// The recipe and what was asked for besides.
std::string recipe_text(const gemm_request& q, int splits) {
  std::string text = q.recipe;
  if (!q.interval.empty()) text += " --interval " + q.interval;
  if (q.splits) text += fmt::format(" --splits {}", *q.splits);
  if (!q.like.empty()) text += fmt::format(" --splits {}", splits);
  if (!q.c.empty()) text += " --c " + q.c;
  return text;
}

/// How cuBLASLt is told to scale operands of such groups; empty: not at all.
std::string scaling_of(granularity a, granularity b, bool fast) {
  if (a == per_tensor && b == per_tensor) {
    return fast ? "tensor.fast" : "tensor.precise";
  }
  if (a == block_128x128 && b == tile_1x128) return "128x128_1x128";
  if (!(a == tile_1x128)) return {};
  return b == block_128x128 ? "1x128_128x128"
         : b == tile_1x128  ? "1x128_1x128"
                            : "";
}

/// Takes the recipe and the splits from a record; `r` has the output.
void follow_record(gemm_request& q, const operand& a, const operand& b,
                   format of_a, format of_b, recipe& r) {
  const bool fast = q.recipe == "unpromoted";
  const auto scaling = scaling_of(a.groups, b.groups, fast);
  if (scaling.empty()) {
    throw input_error(fmt::format(
        "--like {}: scales of {} and {}: cuBLASLt takes tensor by tensor, "
        "1x128 by 128x128, 128x128 by 1x128, 1x128 by 1x128",
        q.like, text_of(a.groups), text_of(b.groups)));
  }
  const auto found =
      find_like(q.like, {a.codes.rows, b.codes.rows, a.codes.cols, of_a, of_b,
                         r.output, scaling});
  const auto output = r.output;
  r = parse_recipe(found.recipe).value;
  r.output = output;
  r.splits = found.splits;
  q.recipe = found.recipe;
  q.like_source = found.source;
}

/// C in place is FP32, as it is: else no more could be added.
void check_in_place(const gemm_request& q, format output) {
  std::error_code none;
  if (output == fp32 || !std::filesystem::equivalent(q.c, q.out, none)) return;
  throw input_error(fmt::format(
      "--out {}: this is C, of float32, and D is {}: use --output fp32 or name "
      "another file",
      q.out, name_of(output)));
}

void run_gemm(gemm_request q) {
  recipe r = choose_recipe(q);
  check_result(q.out);
  check_in_place(q, r.output);
  const tensor ta = read_tensor(q.a);
  const tensor tb = read_tensor(q.b);
  const operand a = as_operand(ta);
  const operand b = as_operand(tb);
  if (q.like.empty()) {
    check_groups(a, r.a, q.a, q.recipe);
    check_groups(b, r.b, q.b, q.recipe);
  }
  if (a.codes.cols != b.codes.cols) {
    throw input_error(fmt::format(
        "{} is {} x {}, {} is {} x {}: both must "
        "have the same K",
        q.a, a.codes.rows, a.codes.cols, q.b, b.codes.rows, b.codes.cols));
  }
  if (!q.like.empty()) follow_record(q, a, b, ta.element, tb.element, r);
  r = engine::for_operands(r, ta.element, tb.element);
  check_interval(r, q);
  matrix<std::uint32_t> c;
  const std::ptrdiff_t m = a.codes.rows;
  const std::ptrdiff_t n = b.codes.rows;
  if (!q.c.empty()) {
    c = read_fp32(q.c);
    if (c.rows != m || c.cols != n) {
      throw input_error(fmt::format("{}: C must be {} x {}, not {} x {}", q.c,
                                    m, n, c.rows, c.cols));
    }
  }
  matrix<std::uint32_t> d(m, n);
  matrix_view<const std::uint32_t> addend;
  if (!q.c.empty()) addend = c.view();
  std::string by;
  if (q.gpu) {
    by = gemm_on_gpu(r, {ta.element, a.codes, a.scales},
                     {tb.element, b.codes, b.scales}, addend, d.view());
  } else {
    engine::gemm(r, {ta.element, a.codes}, a.scales, {tb.element, b.codes},
                 b.scales, addend, d.view());
  }
  const std::vector<std::size_t> shape{static_cast<std::size_t>(m),
                                       static_cast<std::size_t>(n)};
  array result;
  if (r.output == fp32) {
    result = make_array<std::uint32_t>(shape, d.data);
    result.type = dtype::f32;
  } else {
    const std::vector<std::uint16_t> narrow(d.data.begin(), d.data.end());
    result = make_array<std::uint16_t>(shape, narrow);
  }
  write_npy(q.out, result);
  const std::string type = r.output == fp32 ? "float32" : "bf16 (uint16)";
  if (q.as_json) {
    json all{{"out", q.out},
             {"shape", {m, n}},
             {"k", a.codes.cols},
             {"recipe", q.recipe},
             {"interval", r.interval == 0 ? json("none") : json(r.interval)},
             {"splits", r.splits},
             {"output", name_of(r.output)}};
    if (!q.like.empty()) all["like"] = q.like_source;
    if (!q.c.empty()) all["c"] = q.c;
    if (q.gpu) all["by"] = by;
    print_json(all);
  } else {
    print(fmt::format("{}: {} x {} {}, K = {}, {}{}\n", q.out, m, n, type,
                      a.codes.cols, recipe_text(q, r.splits),
                      q.gpu ? ", by " + by : by));
  }
}

void run(const gemm_request& q, const cli::app& given) {
  const bool blocks = is_block_recipe(q.recipe);
  const std::vector<const char*> others =
      blocks ? std::vector{"--like", "--interval", "--splits", "--gpu"}
             : std::vector{"--convention", "--second", "--dtype"};
  for (const char* other : others) {
    if (given.count(other) == 0) continue;
    throw input_error(
        fmt::format("{}: recipe {} does not take it, since it {} block scales",
                    other, q.recipe, blocks ? "has" : "has no"));
  }
  if (!blocks) return run_gemm(q);
  run_block_gemm({q.a, q.b, q.recipe, q.convention, q.second, q.dtype, q.c,
                  q.output, q.out, q.as_json});
}

}  // namespace

void add_gemm(cli::app& app, outcome&) {
  auto* sub = add_command(
      app, "gemm",
      "D = A B^T of quantized tensors, both with K along their rows (or tiles "
      "of Rx1 with K along their columns)",
      "zeroulp gemm qx qw --recipe deepgemm.1d2d --out d.npy");
  auto q = std::make_shared<gemm_request>();
  sub->add_option("DIR_A", q->a,
                  "m x k, written by quantize; for a recipe with block scales "
                  "also a .npy as quantize takes it")
      ->required();
  sub->add_option("DIR_B", q->b, "n x k, likewise")->required();
  sub->add_option("--recipe", q->recipe,
                  "a name of zeroulp recipes, or a JSON file; or one of "
                  "zeroulp block-recipes, such as mxfp8 or nvfp4")
      ->capture_default_str();
  sub->add_option("--convention", q->convention,
                  "how a .npy is quantized in blocks; the recipe's own if "
                  "absent");
  sub->add_option("--second", q->second,
                  "and the scales of its second level: none, tensor or row");
  sub->add_option("--dtype", q->dtype, "bf16: a .npy holds BF16 as uint16");
  auto* like = sub->add_option(
      "--like", q->like,
      "the recipe and the splits that a library took for this shape: "
      "cublaslt-13.1:h100, or a file of zeroulp identify cublaslt --record; "
      "with --recipe unpromoted, by fast accumulation");
  sub->add_option("--c", q->c,
                  "float32 .npy to accumulate into: fl(acc + C); with --output "
                  "fp32, --out may be the same file");
  sub->add_option("--interval", q->interval,
                  "elements of K between promotions, or none; the recipe's own "
                  "if absent");
  sub->add_option("--splits", q->splits, "ranges of K that are summed apart");
  sub->add_option("--output", q->output, "fp32 or bf16");
  sub->add_option("--out", q->out, ".npy to write")->required();
  sub->add_flag("--gpu", q->gpu,
                "on the GPU: the same bits, by its tensor core where that has "
                "a kernel for the recipe, else by the emulator");
  sub->add_flag("--json", q->as_json);
  add_reference(sub);
  for (const char* other : {"--interval", "--splits", "--c"}) {
    like->excludes(sub->get_option(other));
  }
  sub->get_option("--gpu")->excludes(sub->get_option("--reference"));
  sub->callback([q, sub] { run(*q, *sub); });
}

}  // namespace zeroulp::program
