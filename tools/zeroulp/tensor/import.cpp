// import: codes and scales of somebody else's kernel as a directory that
// dequantize, retile and gemm read.

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/tensor/block_tensor.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"

namespace zeroulp::program {
namespace {

struct import_request {
  std::string codes;
  std::string scales;
  std::string format;
  std::string group = "1x128";
  std::string scale;
  std::string scale_dtype;
  std::string second;
  std::string layout = "row_major";
  std::string out;
};

/// The FP32 bits of an element of SCALES: FP32, BF16, or UE8M0's exponent byte.
struct scale_reader {
  format of;
  scale_kind kind;

  scale_reader(const array& a, const import_request& q) {
    const std::string& type = q.scale_dtype;
    if (!type.empty() && type != "bf16") {
      throw input_error(fmt::format(
          "--scale-dtype '{}': only bf16 needs saying (uint16 elements)",
          type));
    }
    if (type == "bf16" && a.type == dtype::u16) {
      of = bf16;
    } else if (type.empty() && a.type == dtype::f32) {
      of = fp32;
    } else if (type.empty() && a.type == dtype::u8) {
      of = ue8m0;
    } else {
      throw input_error(fmt::format(
          "{}: scales are {}: use float32, uint8 (exponents of UE8M0), or "
          "uint16 with --scale-dtype bf16",
          q.scales, descr_of(a.type)));
    }
    kind = !q.scale.empty() ? parse_scale_kind(q.scale)
           : of == ue8m0    ? scale_kind::pow2
                            : scale_kind::float32;
  }
  std::uint32_t operator()(std::uint32_t code) const {
    return static_cast<std::uint32_t>(recode(of, code, fp32, {}, cuda_nosat));
  }
};

tensor read_parts(const import_request& q) {
  tensor t;
  t.element = parse_format(q.format);
  t.group = parse_group(q.group);
  t.convention = unknown_convention;
  check_target(t.element, "--format");
  auto codes = read_npy(q.codes);
  t.codes = code_matrix(std::move(codes), q.codes);
  check_codes(t, q.codes);
  const auto stored = read_npy(q.scales);
  const scale_reader read(stored, q);
  t.scale = read.kind;
  const code_matrix words(stored, q.scales);
  const std::ptrdiff_t m = t.codes.rows, n = t.codes.cols;
  const auto rows = ceil_div(m, t.group.height(m));
  const auto cols = ceil_div(n, t.group.width(n));
  if (words.rows != rows || words.cols != cols) {
    throw input_error(fmt::format(
        "{}: {} x {} scales: {} x {} codes in groups {} need {} x {}", q.scales,
        words.rows, words.cols, m, n, name_of(t.group), rows, cols));
  }
  t.scales = matrix<std::uint32_t>(rows, cols);
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t j = 0; j < cols; ++j) {
      const std::uint32_t s = read(words(i, j));
      check_scale(s, t, q.scales, i, j);
      t.scales.view()(i, j) = s;
    }
  }
  return t;
}

/// Codes and bytes of scales, a row and `block` elements of K each.
void import_blocks(const import_request& q) {
  block_tensor t;
  t.element = parse_format(q.format);
  t.scale = parse_block_scale(q.scale);
  const auto group = parse_group(q.group);
  if (group.rows != 1 || group.cols < 1 || group.cols > 1024) {
    throw input_error(fmt::format(
        "--group {}: block scales are one a row and 1 to 1024 elements, such "
        "as 1x32 or 1x16",
        q.group));
  }
  t.block = group.cols;
  t.interleaved = parse_block_layout(q.layout);
  t.convention = unknown_convention;
  check_target(t.element, "--format");
  tensor codes;
  codes.element = t.element;
  codes.codes = code_matrix(read_npy(q.codes), q.codes);
  check_codes(codes, q.codes);
  t.codes = std::move(codes.codes);
  t.scales = read_block_scales(read_npy(q.scales), t, q.scales);
  if (!q.second.empty()) {
    t.second = read_fp32(q.second);
    const bool fits = t.second.rows == 1 || t.second.rows == t.codes.rows;
    if (t.second.cols != 1 || !fits) {
      throw input_error(fmt::format(
          "{}: {} x {} scales of the second level, expected 1 x 1 or {} x 1",
          q.second, t.second.rows, t.second.cols, t.codes.rows));
    }
  }
  write_block_tensor(q.out, t, {{"imported_from", {q.codes, q.scales}}});
  report(t, q.out, false);
}

void run_import(const import_request& q) {
  if (q.scale == "ue8m0" || q.scale == "ue4m3") {
    for (const auto& in : {q.codes, q.scales, q.second}) check_kept(in, q.out);
    return import_blocks(q);
  }
  if (!q.second.empty() || q.layout != "row_major") {
    throw input_error(
        "--second and --layout: only block scales have them: --scale ue8m0 or "
        "ue4m3");
  }
  for (const auto& in : {q.codes, q.scales}) check_kept(in, q.out);
  const tensor t = read_parts(q);
  write_tensor(q.out, t, {{"imported_from", {q.codes, q.scales}}});
  print(fmt::format("{}: {} x {} {} codes, {} {} scales of {}\n", q.out,
                    t.codes.rows, t.codes.cols, name_of(t.element),
                    t.scales.rows * t.scales.cols, name_of(t.scale),
                    name_of(t.group)));
}

}  // namespace

void add_import(cli::app& app, outcome&) {
  auto* sub = add_command(
      app, "import",
      "Codes and scales of your own, for dequantize, retile, gemm",
      "zeroulp import --codes c.npy --scales s.npy --format e4m3 --out qx");
  auto q = std::make_shared<import_request>();
  sub->add_option("--codes", q->codes, "m x n .npy of unsigned integers")
      ->required();
  sub->add_option(
         "--scales", q->scales,
         "a scale a group: float32, uint8 (exponents of UE8M0) or BF16")
      ->required();
  sub->add_option("--format", q->format, "of the codes")->required();
  sub->add_option("--group", q->group,
                  "RxC, 0 for the whole dimension, or tensor")
      ->capture_default_str();
  sub->add_option("--scale", q->scale,
                  "kind: pow2 if absent and the scales are exponents, or fp32; "
                  "ue8m0 or ue4m3: bytes of block scales, for recipes such as "
                  "mxfp8");
  sub->add_option("--second", q->second,
                  "FP32 scales of a second level: 1 x 1 or m x 1 .npy");
  sub->add_option("--layout", q->layout, "of block scales: row_major or 128x4")
      ->capture_default_str();
  sub->add_option("--scale-dtype", q->scale_dtype,
                  "bf16: SCALES holds BF16 as uint16");
  sub->add_option("--out", q->out, "directory to write")->required();
  sub->callback([q] { run_import(*q); });
}

}  // namespace zeroulp::program
