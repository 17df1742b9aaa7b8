// quantize, dequantize, retile: matrices to codes with scales, and back.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/tensor/block_tensor.hpp"
#include "tools/zeroulp/tensor/convention_json.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::program {
namespace {

/// Prints what was written where.
void report(const tensor& t, const std::string& out, bool as_json) {
  const auto lost = count_without_exponent(t);
  if (as_json) {
    json all{{"out", out},
             {"format", name_of(t.element)},
             {"shape", {t.codes.rows, t.codes.cols}},
             {"group", name_of(t.group)},
             {"scale", name_of(t.scale)},
             {"scales", {t.scales.rows, t.scales.cols}}};
    if (lost > 0) all["stored_as_nan"] = lost;
    print_json(all);
    return;
  }
  print(fmt::format(
      "{}: {} x {} {} codes, {} {} scales of {}{}\n", out, t.codes.rows,
      t.codes.cols, name_of(t.element), t.scales.rows * t.scales.cols,
      name_of(t.scale), name_of(t.group),
      lost == 0 ? "" : fmt::format(", {} stored as ff, NaN", lost)));
}

struct quantize_request {
  std::string input;
  std::string format = "e4m3";
  std::string group = "1x128";
  std::string scale;
  std::string convention = "zeroulp";
  std::string layout = "row_major";
  std::string dtype;
  std::string scales;
  std::string history;
  std::string history_rule = "max";
  std::string decay = "0.9";
  block_quantize_request blocks;  ///< but for what is above
  std::string out;
  bool as_json = false;
};

/// Conventions of blocks, such as nvfp4.
void run_quantize_blocks(const quantize_request& q, const cli::app& given) {
  for (const char* other : {"--group", "--scale", "--scales", "--history"}) {
    if (given.count(other) > 0) {
      throw input_error(
          fmt::format("{}: {} quantizes in blocks, with scales of its own",
                      other, q.convention));
    }
  }
  const bool interleaved = parse_block_layout(q.layout);
  check_kept(q.input, q.out);
  check_kept(q.blocks.random, q.out);
  for (const char* other : {"--random-bits", "--random-source"}) {
    if (given.count(other) > 0 && !q.blocks.random_seed) {
      throw input_error(fmt::format("{}: add --random-seed", other));
    }
  }
  auto how = q.blocks;
  how.convention = q.convention;
  if (given.count("--format") > 0) how.format = q.format;
  auto t = quantize_in_blocks(how, read_input(q.input, q.dtype));
  t.interleaved = interleaved;
  json besides = json::object();
  if (how.block_rows > 1) besides["block_rows"] = how.block_rows;
  if (!how.random.empty()) besides["rounding"] = "stochastic";
  if (how.random_seed) {
    besides["rounding"] =
        fmt::format("stochastic, {} bits of {}, seed {}", how.random_bits,
                    how.random_source, *how.random_seed);
  }
  write_block_tensor(q.out, t, besides);
  report(t, q.out, q.as_json);
}

/// The FP32 bits of --decay.
std::uint32_t parse_decay(const std::string& text) {
  const auto bits =
      static_cast<std::uint32_t>(encode(fp32, parse_number(text)));
  if (bits > fp32_one) {
    throw input_error(fmt::format("--decay '{}': use 0 to 1", text));
  }
  return bits;
}

/// The amax of the past, or the tensor's own.
std::uint32_t choose_amax(const quantize_request& q, const quantizer& how,
                          engine::const_code_view x) {
  std::uint32_t current = 0;
  if (x.rows > 0 && x.cols > 0) {
    engine::group_amaxes(how, x, {&current, 1, 1});
  }
  if (q.history.empty()) return current;
  const auto past = read_npy(q.history);
  if (past.type != dtype::f32 || past.shape.size() != 1) {
    throw input_error(fmt::format(
        "{}: a history is a 1-dimensional float32 array, oldest first",
        q.history));
  }
  const auto bits = past.as<std::uint32_t>();
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const unpacked amax = decode(fp32, bits[i]);
    if (amax.negative && !amax.is_nan()) {
      throw input_error(
          fmt::format("{}: element {} is {}: an amax is not negative",
                      q.history, i, to_decimal(amax)));
    }
  }
  return delayed_amax(bits.data(), static_cast<std::ptrdiff_t>(bits.size()),
                      current,
                      q.history_rule == "max" ? history_rule::maximum
                                              : history_rule::moving_average,
                      parse_decay(q.decay));
}

/// The FP32 bits of --scales, one for each group: a number for all, or a file.
matrix<std::uint32_t> given_scales(const std::string& text, std::ptrdiff_t rows,
                                   std::ptrdiff_t cols) {
  if (text.ends_with(".npy")) {
    auto given = read_fp32(text);
    if (given.rows != rows || given.cols != cols) {
      throw input_error(fmt::format("{}: {} x {} scales, but {} x {} groups",
                                    text, given.rows, given.cols, rows, cols));
    }
    return given;
  }
  matrix<std::uint32_t> all(rows, cols);
  const auto bits = static_cast<std::uint32_t>(
      encode(fp32, parse_number(text), {}, ocp_nonsaturate));
  std::fill(all.data.begin(), all.data.end(), bits);
  return all;
}

void run_quantize(const quantize_request& q) {
  const auto named = convention_json().find(q.convention);
  tensor t;
  t.element = parse_format(q.format);
  t.group = parse_group(q.group);
  t.scale = !q.scale.empty()           ? parse_scale_kind(q.scale)
            : named.value.power_of_two ? scale_kind::pow2
                                       : scale_kind::float32;
  t.layout = parse_scale_layout(q.layout);
  t.convention = named.name;
  if (named.is_own)
    t.convention_fields = convention_json().fields_of(named.value);
  check_target(t.element, "--format");
  if (t.layout == scale_layout::packed_ue8m0 &&
      t.scale == scale_kind::float32) {
    throw input_error("--layout ue8m0 needs --scale pow2");
  }
  if (t.group == group_shape{0, 0} && t.layout != scale_layout::row_major) {
    throw input_error(fmt::format(
        "--layout {}: a whole tensor has one scale, which stands in meta.json",
        q.layout));
  }
  if (!q.history.empty() && !(t.group == group_shape{0, 0})) {
    throw input_error(
        "--history needs --group tensor: delayed scaling has one "
        "scale for the whole tensor");
  }
  if (q.history_rule != "max" && q.history_rule != "ema") {
    throw input_error(
        fmt::format("--history-rule '{}': use max or ema", q.history_rule));
  }
  for (const auto& in : {q.input, q.history, q.scales}) {
    check_kept(in, q.out);
  }
  const auto x = read_input(q.input, q.dtype);
  const quantizer how{x.element, t.element, named.value, t.scale, t.group};
  t.codes = code_matrix(x.bits.rows, x.bits.cols, t.element.bits());
  if (!q.scales.empty()) {
    t.scales = given_scales(q.scales,
                            ceil_div(x.bits.rows, t.group.height(x.bits.rows)),
                            ceil_div(x.bits.cols, t.group.width(x.bits.cols)));
    for (std::ptrdiff_t i = 0; i < t.scales.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < t.scales.cols; ++j) {
        check_scale(t.scales.view()(i, j), t, "--scales " + q.scales, i, j);
      }
    }
    engine::quantize_by_scale(how, x.bits.view(),
                              std::as_const(t.scales).view(), t.codes.view());
  } else if (t.group == group_shape{0, 0}) {
    // An empty tensor has a scale too: that of amax 0.
    t.scales = matrix<std::uint32_t>(1, 1);
    const std::uint32_t amax = choose_amax(q, how, x.bits.view());
    t.scales.data[0] = make_scale(how, amax).scale;
    if (!x.bits.view().is_empty()) {
      engine::quantize(how, x.bits.view(),
                       matrix_view<const std::uint32_t>(&amax, 1, 1),
                       t.codes.view(), t.scales.view());
    }
  } else {
    t.scales = matrix<std::uint32_t>(
        ceil_div(x.bits.rows, t.group.height(x.bits.rows)),
        ceil_div(x.bits.cols, t.group.width(x.bits.cols)));
    engine::quantize(how, x.bits.view(), t.codes.view(), t.scales.view());
  }
  write_tensor(q.out, t, {{"from", name_of(x.element)}});
  report(t, q.out, q.as_json);
}

struct dequantize_request {
  std::string dir;
  std::string to = "fp32";
  std::string out;
};

void run_dequantize(const dequantize_request& q) {
  check_result(q.out);
  const format to = parse_format(q.to);
  check_target(to, "--to");
  code_matrix x;
  if (is_block_tensor(q.dir)) {
    x = dequantized(read_block_tensor(q.dir), to);
  } else {
    const tensor t = read_tensor(q.dir);
    x = code_matrix(t.codes.rows, t.codes.cols, to.bits());
    if (to == fp32) x.stored.type = dtype::f32;
    if (to == fp16) x.stored.type = dtype::f16;
    engine::dequantize(t.element, t.group, t.codes.view(), t.scales.view(), to,
                       x.view());
  }
  write_npy(q.out, x.stored);
  print(fmt::format("{}: {} x {} {}\n", q.out, x.rows, x.cols,
                    to == fp32 ? "float32" : name_of(to)));
}

struct retile_request {
  std::string dir;
  std::string to;
  std::string rule = "amax";
  std::string out;
  bool as_json = false;
};

/// to(j, i) = from(i, j), in blocks that stay in the cache.
template <class From, class To>
void transpose(matrix_view<const From> from, matrix_view<To> to) {
  constexpr std::ptrdiff_t side = 64;
  for (std::ptrdiff_t i0 = 0; i0 < from.rows; i0 += side) {
    for (std::ptrdiff_t j0 = 0; j0 < from.cols; j0 += side) {
      for (auto i = i0; i < std::min(i0 + side, from.rows); ++i) {
        for (auto j = j0; j < std::min(j0 + side, from.cols); ++j) {
          to(j, i) = static_cast<To>(from(i, j));
        }
      }
    }
  }
}

/// The same codes, bit by bit, in the smallest type for `bits` bits.
code_matrix transpose(const code_matrix& codes, int bits) {
  code_matrix result(codes.cols, codes.rows, bits);
  const auto into = [&]<class To>(To) {
    const matrix_view<To> to(reinterpret_cast<To*>(result.stored.data.data()),
                             result.rows, result.cols);
    visit_bits(codes.stored, [&]<class From>(std::span<const From> from) {
      transpose(matrix_view<const From>(from.data(), codes.rows, codes.cols),
                to);
    });
  };
  switch (size_of(result.stored.type)) {
    case 1:
      into(std::uint8_t{});
      break;
    case 2:
      into(std::uint16_t{});
      break;
    default:
      into(std::uint32_t{});
  }
  return result;
}

/// The same tensor, transposed: no arithmetic.
tensor transpose(const tensor& t) {
  tensor result;
  result.element = t.element;
  result.group = {t.group.cols, t.group.rows};
  result.scale = t.scale;
  result.layout = t.layout;
  result.convention = t.convention;
  result.convention_fields = t.convention_fields;
  result.scales = matrix<std::uint32_t>(t.scales.cols, t.scales.rows);
  transpose(t.scales.view(), result.scales.view());
  result.codes = transpose(t.codes, t.element.bits());
  return result;
}

void run_retile(const retile_request& q) {
  std::error_code absent;
  if (std::filesystem::equivalent(q.dir, q.out, absent)) {
    throw input_error(fmt::format(
        "--out {}: this is what is re-tiled; name another directory", q.out));
  }
  tensor source = read_tensor(q.dir);
  const auto rule = parse_retile_rule(q.rule);
  const format to = q.to.empty() ? source.element : parse_format(q.to);
  check_target(to, "--to");
  if (source.group.rows == source.group.cols) {
    // Weights and whole tensors: a transpose, nothing is rounded.
    if (!(to == source.element)) {
      throw input_error(fmt::format(
          "--to {}: groups {} are only transposed; quantize again for "
          "another format",
          q.to, name_of(source.group)));
    }
    const tensor t = transpose(source);
    write_tensor(q.out, t, {{"transpose_of", q.dir}});
    report(t, q.out, q.as_json);
    return;
  }
  // Column tiles are row tiles of the transpose.
  if (source.group.cols == 1) source = transpose(source);
  if (source.group.rows != 1) {
    throw input_error(fmt::format(
        "{}: groups {} cannot be re-tiled: use 1xN, Nx1 or square groups",
        q.dir, name_of(source.group)));
  }
  const retiling how{source.element, to, source.scale, source.group.cols, rule};
  tensor t;
  t.element = to;
  t.group = source.group;
  t.scale = source.scale;
  t.layout = source.layout;
  t.convention = "zeroulp";
  t.codes = code_matrix(source.codes.cols, source.codes.rows, to.bits());
  t.scales = matrix<std::uint32_t>(
      source.codes.cols,
      ceil_div(source.codes.rows, source.group.width(source.codes.rows)));
  engine::retile(how, source.codes.view(), source.scales.view(), t.codes.view(),
                 t.scales.view());
  write_tensor(q.out, t, {{"retiled_from", q.dir}, {"rule", q.rule}});
  report(t, q.out, q.as_json);
}

}  // namespace

void check_target(format f, const std::string& option) {
  if (!is_quantizable(f)) {
    throw input_error(
        fmt::format("{} {}: elements are formats with a sign, at most 32 bits "
                    "and a largest "
                    "number within FP32",
                    option, name_of(f)));
  }
}

void add_tensor(cli::app& app, outcome&) {
  auto* quantize = add_command(
      app, "quantize", "Quantize a matrix: codes and scales",
      "zeroulp quantize x.npy --format e4m3 --group 1x128 --out qx");
  auto z = std::make_shared<quantize_request>();
  quantize->add_option("IN", z->input, "float32, float16 or uint16 .npy")
      ->required();
  quantize->add_option("--format", z->format, "of the codes")
      ->capture_default_str();
  quantize
      ->add_option("--group", z->group,
                   "RxC, 0 for the whole dimension, or tensor")
      ->capture_default_str();
  quantize->add_option(
      "--scale", z->scale,
      "fp32, pow2, pow2_down, pow2_nearest or ocp; the convention's "
      "own if absent");
  quantize
      ->add_option("--convention", z->convention,
                   "a name of zeroulp conventions, or a JSON file; or one of "
                   "zeroulp block-conventions, which have --format e4m3 or "
                   "e2m1 and groups and scales of their own")
      ->capture_default_str();
  quantize->add_option("--second", z->blocks.second,
                       "scales of the second level of a convention of blocks "
                       "with ue4m3: none, tensor or row; tensor if absent");
  quantize
      ->add_option("--scale-max", z->blocks.largest_scale,
                   "the block scale that the largest amax gets: 448 or 256")
      ->capture_default_str();
  quantize
      ->add_option("--block-rows", z->blocks.block_rows,
                   "rows that share the scale of a block: 16 for the weights "
                   "of NVFP4's training")
      ->capture_default_str();
  auto* random = quantize->add_option(
      "--random", z->blocks.random,
      "stochastic rounding of blocks: a uint32 .npy of IN's shape, 32 random "
      "bits an element");
  quantize
      ->add_option("--random-seed", z->blocks.random_seed,
                   "stochastic rounding of blocks by --random-source")
      ->excludes(random);
  quantize
      ->add_option("--random-bits", z->blocks.random_bits,
                   "how many of the 32 take part")
      ->capture_default_str();
  quantize
      ->add_option("--random-source", z->blocks.random_source,
                   "philox4x32_10, which is cuRAND's, or splitmix64")
      ->capture_default_str();
  quantize
      ->add_option("--layout", z->layout,
                   "of the scales; 128x4 of those of blocks")
      ->capture_default_str();
  quantize->add_option("--dtype", z->dtype, "bf16: IN holds BF16 as uint16");
  auto* scales = quantize->add_option(
      "--scales", z->scales,
      "scales that are given, not made: a number for all (1: a cast), or a "
      "float32 .npy with one for each group");
  auto* history = quantize->add_option(
      "--history", z->history,
      "delayed scaling: previous amaxes, oldest first (.npy)");
  history->excludes(scales);
  quantize->add_option("--history-rule", z->history_rule, "max or ema")
      ->needs(history)
      ->capture_default_str();
  quantize->add_option("--decay", z->decay, "of ema")
      ->needs(history)
      ->capture_default_str();
  quantize->add_option("--out", z->out, "directory to write")->required();
  quantize->add_flag("--json", z->as_json);
  add_reference(quantize);
  quantize->callback([z, quantize] {
    if (is_block_convention(z->convention)) {
      return run_quantize_blocks(*z, *quantize);
    }
    for (const char* other :
         {"--second", "--scale-max", "--block-rows", "--random",
          "--random-seed", "--random-bits", "--random-source"}) {
      if (quantize->count(other) == 0) continue;
      throw input_error(fmt::format(
          "{}: only conventions of blocks have it, such as nvfp4", other));
    }
    run_quantize(*z);
  });

  auto* dequantize = add_command(app, "dequantize", "Codes times scales",
                                 "zeroulp dequantize qx --out back.npy");
  auto d = std::make_shared<dequantize_request>();
  dequantize->add_option("DIR", d->dir, "written by quantize")->required();
  dequantize
      ->add_option("--to", d->to,
                   "format that the exact product is rounded to, once: bf16 is "
                   "not always the BF16 of fp32's")
      ->capture_default_str();
  dequantize->add_option("--out", d->out, ".npy to write")->required();
  add_reference(dequantize);
  dequantize->callback([d] { run_dequantize(*d); });

  auto* retile = add_command(app, "retile",
                             "Transpose, with tiles along the other dimension",
                             "zeroulp retile qx --to e4m3 --out qxt");
  auto r = std::make_shared<retile_request>();
  retile->add_option("DIR", r->dir, "written by quantize")->required();
  retile->add_option("--to", r->to, "format of the result; the same if absent");
  retile->add_option("--rule", r->rule, "amax or max_scale")
      ->capture_default_str();
  retile->add_option("--out", r->out, "directory to write")->required();
  retile->add_flag("--json", r->as_json);
  add_reference(retile);
  retile->callback([r] { run_retile(*r); });
}

}  // namespace zeroulp::program
