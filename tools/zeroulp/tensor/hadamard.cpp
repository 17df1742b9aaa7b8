// hadamard: the transform of blocks of K before they are quantized.

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::program {
namespace {

struct hadamard_request {
  std::string input;
  std::string dtype;
  int size = 16;
  std::string signs;
  std::string path;
  std::string scale;
  std::string to;
  std::string out;
};

/// The signs of a block: a text of + and -, or whose they are.
std::vector<std::int8_t> signs_of(const std::string& text, int size) {
  // What Transformer Engine multiplies by before the transform of NVFP4.
  const std::string all =
      text == "transformer_engine" ? "+++-+------+-+--" : text;
  std::vector<std::int8_t> signs;
  for (const char c : all) {
    if (c != '+' && c != '-') {
      throw input_error(fmt::format(
          "--signs '{}': use + and -, or transformer_engine", text));
    }
    signs.push_back(c == '+' ? 1 : -1);
  }
  if (!signs.empty() && signs.size() != static_cast<std::size_t>(size)) {
    throw input_error(
        fmt::format("--signs: {}, but blocks of {}", signs.size(), size));
  }
  return signs;
}

void run_hadamard(const hadamard_request& q) {
  check_result(q.out);
  const auto x = read_input(q.input, q.dtype);
  hadamard_transform t{x.element, q.to.empty() ? x.element : parse_format(q.to),
                       q.size, 0};
  if (!is_valid(t)) {
    throw input_error(
        "--size: a power of two from 2 to 1024; --to: fp32, bf16 or fp16");
  }
  if (!q.scale.empty()) {
    t.scale = static_cast<std::uint32_t>(encode(fp32, parse_number(q.scale)));
    if (t.scale == 0) {
      throw input_error(fmt::format("--scale {}: use another than 0", q.scale));
    }
  }
  const auto signs = signs_of(q.signs, q.size);
  code_matrix y(x.bits.rows, x.bits.cols, t.to.bits());
  if (t.to == fp32) y.stored.type = dtype::f32;
  if (t.to == fp16) y.stored.type = dtype::f16;
  const zeroulp::path by =
      q.path.empty() ? zeroulp::path{} : parse_path(q.path).value;
  engine::hadamard(t, q.path.empty() ? nullptr : &by,
                   signs.empty() ? nullptr : signs.data(), x.bits.view(),
                   y.view());
  write_npy(q.out, y.stored);
  print(fmt::format("{}: {} x {} {}\n", q.out, y.rows, y.cols,
                    t.to == fp32 ? "float32" : name_of(t.to)));
}

}  // namespace

void add_hadamard(cli::app& app, outcome&) {
  auto* hadamard = add_command(
      app, "hadamard", "Spread outliers over blocks before quantizing",
      "zeroulp hadamard x.npy --signs transformer_engine --out y.npy");
  auto q = std::make_shared<hadamard_request>();
  hadamard->add_option("IN", q->input, "float32, float16 or uint16 .npy")
      ->required();
  hadamard->add_option("--dtype", q->dtype, "bf16: IN holds BF16 as uint16");
  hadamard
      ->add_option("--size", q->size,
                   "of a block: a power of two from 2 to 1024")
      ->capture_default_str();
  hadamard->add_option("--signs", q->signs,
                       "of a block's elements: a text of + and -, or "
                       "transformer_engine; all + if absent");
  hadamard->add_option("--path", q->path,
                       "sums by the steps of a tensor core, a name of zeroulp "
                       "paths; FP32 butterflies if absent");
  hadamard->add_option("--scale", q->scale,
                       "of the sums; 1 / sqrt(size) if absent");
  hadamard->add_option("--to", q->to, "fp32, bf16 or fp16; IN's if absent");
  hadamard->add_option("--out", q->out, ".npy to write")->required();
  hadamard->callback([q] { run_hadamard(*q); });
}

}  // namespace zeroulp::program
