// identify: which convention or recipe turns these inputs into these outputs.

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/identify/cublaslt.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/identify/report.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#endif

namespace zeroulp::program {
namespace {

struct quantizer_request {
  std::string x;
  std::string codes;
  std::string scales;
  std::string format;
  std::string group;
  std::string layout;
  std::string dtype;
  bool as_json = false;
};

struct gemm_request {
  std::string a;
  std::string b;
  std::string d;
  std::string a_scales;
  std::string b_scales;
  std::string a_second;
  std::string b_second;
  std::string c;
  std::string format_a = "e4m3";
  std::string format_b = "e4m3";
  std::string dtype;
  bool as_json = false;
};

#ifdef ZEROULP_HAVE_CONFORMANCE

using oracle::grid;

[[noreturn]] void refuse(const std::string& file, const array& a,
                         std::string_view what) {
  throw input_error(
      fmt::format("{}: elements are {}: {}", file, descr_of(a.type), what));
}

grid to_grid(const array& a, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  grid g(rows, cols);
  visit_bits(a, [&g](auto elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      g.words[i] = static_cast<std::uint32_t>(elements[i]);
    }
  });
  return g;
}

bool is_unsigned(dtype type) {
  return type == dtype::u8 || type == dtype::u16 || type == dtype::u32;
}

grid read_codes(const std::string& file, int* bits = nullptr) {
  const auto a = read_npy(file);
  if (!is_unsigned(a.type)) refuse(file, a, "codes are unsigned integers");
  if (bits != nullptr) *bits = static_cast<int>(size_of(a.type) * 8);
  const auto [m, n] = matrix_shape(a, file);
  return to_grid(a, m, n);
}

void check_width(format f, const std::string& file, int bits) {
  if (f.bits() <= bits) return;
  throw input_error(fmt::format("{}: elements have {} bits, codes of {} {}",
                                file, bits, name_of(f), f.bits()));
}

/// FP32 numbers or codes of ue8m0; a vector is a column, a number a 1 x 1
/// matrix.
grid read_scales(const std::string& file, fuzz::scale_words* words) {
  auto a = read_npy(file);
  using enum fuzz::scale_words;
  switch (a.type) {
    case dtype::f32:
      *words = numbers;
      break;
    case dtype::u8:
      *words = exponents;
      break;
    case dtype::u32:
      *words = packed;
      break;
    default:
      refuse(file, a,
             "scales are float32, uint8 with the exponents of ue8m0, or uint32 "
             "with four of these");
  }
  while (a.shape.size() < 2) a.shape.push_back(1);
  const auto [m, n] = matrix_shape(a, file);
  return to_grid(a, m, n);
}

/// A float32, float16 or BF16 matrix.
grid read_numbers(const std::string& file, const std::string& dtype_name,
                  format* f) {
  const auto input = read_input(file, dtype_name);
  *f = input.element;
  grid g(input.bits.rows, input.bits.cols);
  g.words = widen(input.bits).data;
  return g;
}

void run_quantizer(const quantizer_request& q, outcome& out) {
  fuzz::quantizer_evidence e;
  e.x = read_numbers(q.x, q.dtype, &e.from);
  e.codes = read_codes(q.codes, &e.code_bits);
  e.scales = read_scales(q.scales, &e.words);
  e.x_name = q.x;
  e.codes_name = q.codes;
  e.scales_name = q.scales;
  if (!q.format.empty()) {
    e.to = parse_format(q.format);
    check_target(*e.to, "--format");
    check_width(*e.to, q.codes, e.code_bits);
  }
  if (!q.group.empty()) e.group = parse_group(q.group);
  if (!q.layout.empty()) e.layout = parse_scale_layout(q.layout);
  const auto a = fuzz::identify_quantizer(e);
  out.status = a.exact ? 0 : 1;
  q.as_json ? print_json(answer_json(e, a)) : print(answer_text(e, a));
}

/// The second level of block scales in two files, of which each may be left
/// out.
fuzz::second_evidence second_level_of(const gemm_request& q) {
  const auto read = [](const std::string& file) -> std::optional<grid> {
    if (file.empty()) return {};
    fuzz::scale_words words{};
    auto t = read_scales(file, &words);
    if (words == fuzz::scale_words::numbers) return t;
    throw input_error(file + ": scales of the second level are float32");
  };
  return {read(q.a_second), read(q.b_second), q.a_second, q.b_second};
}

void run_gemm(const gemm_request& q, outcome& out) {
  const auto operand = [](const std::string& f, const std::string& codes,
                          const std::string& scales) {
    int bits = 0;
    fuzz::operand_evidence x{
        parse_format(f), read_codes(codes, &bits), {}, codes, scales, {}};
    check_width(x.f, codes, bits);
    if (!scales.empty()) x.scales = read_scales(scales, &x.words);
    return x;
  };
  fuzz::gemm_evidence e;
  e.a = operand(q.format_a, q.a, q.a_scales);
  e.b = operand(q.format_b, q.b, q.b_scales);
  e.d = read_numbers(q.d, q.dtype, &e.output);
  e.d_name = q.d;
  e.c_name = q.c;
  if (!q.c.empty()) {
    const auto c = read_fp32(q.c);
    e.c = grid(c.rows, c.cols);
    e.c->words = c.data;
  }
  if (e.output == fp16) {
    throw input_error(q.d + ": D must be float32, or uint16 with --dtype bf16");
  }
  const auto found = fuzz::identify_product(
      e, second_level_of(q),
      [tell = make_progress()](double done, double total) {
        tell(done, total, "");
      });
  std::visit(
      [&](const auto& a) {
        // Every bit that was looked at: where much fits, that may not be all.
        out.status = a.is_near && a.best.differ() == 0 ? 0 : 1;
        q.as_json ? print_json(answer_json(e, a)) : print(answer_text(e, a));
      },
      found);
}

#else

[[noreturn]] void say_what_is_missing() {
  throw input_error(
      "identify: this build has no MPFR, GMP or Boost, and with them the part "
      "that searches is left out: install them and build again");
}

void run_quantizer(const quantizer_request&, outcome&) {
  say_what_is_missing();
}
void run_gemm(const gemm_request&, outcome&) { say_what_is_missing(); }

#endif

}  // namespace

void add_identify(cli::app& app, outcome& out) {
  auto* sub = add_command(
      app, "identify",
      "Find which definition gives an unknown kernel's bits (exit status 1 if "
      "none does)",
      "zeroulp identify quantizer x.npy --codes codes.npy --scales scales.npy");
  sub->require_subcommand(1);

  auto* quantizer = add_command(
      *sub, "quantizer", "Which convention gives these codes and scales",
      "zeroulp identify quantizer x.npy --codes codes.npy --scales scales.npy");
  auto z = std::make_shared<quantizer_request>();
  quantizer->add_option("X", z->x, "float32, float16 or uint16 .npy, m x n")
      ->required();
  quantizer->add_option("--codes", z->codes, "unsigned integers, m x n")
      ->required();
  quantizer
      ->add_option("--scales", z->scales,
                   "float32 scales or inverses, uint8 exponents or uint32 "
                   "words of four; padded or transposed as SPEC Q11 has them")
      ->required();
  quantizer->add_option("--format", z->format,
                        "of the codes; any that fits if absent");
  quantizer->add_option("--group", z->group,
                        "RxC or tensor; any that fits if absent");
  quantizer->add_option("--layout", z->layout,
                        "of the scales; any that fits if absent");
  quantizer->add_option("--dtype", z->dtype, "bf16: X holds BF16 as uint16");
  quantizer->add_flag("--json", z->as_json);
  quantizer->callback([z, &out] { run_quantizer(*z, out); });

  auto* gemm =
      add_command(*sub, "gemm", "Which recipe gives this product",
                  "zeroulp identify gemm --a a.npy --b b.npy --d d.npy");
  auto g = std::make_shared<gemm_request>();
  gemm->add_option("--a", g->a, "codes, m x k")->required();
  gemm->add_option("--b", g->b, "codes, n x k")->required();
  gemm->add_option("--d", g->d, "float32 or uint16 .npy, m x n")->required();
  gemm->add_option(
      "--a-scales", g->a_scales,
      "float32, uint8 exponents or uint32 words of four; padded or "
      "transposed as SPEC Q11 has them; or the bytes of block scales, m x "
      "ceil(k / 16) or m x ceil(k / 32)");
  gemm->add_option("--b-scales", g->b_scales, "likewise");
  gemm->add_option("--a-second", g->a_second,
                   "float32, the second level of block scales: one, or m");
  gemm->add_option("--b-second", g->b_second, "likewise, or n");
  gemm->add_option("--c", g->c, "float32, m x n: fl(acc + C)");
  gemm->add_option("--format-a", g->format_a, "of the codes of A")
      ->capture_default_str();
  gemm->add_option("--format-b", g->format_b, "of the codes of B")
      ->capture_default_str();
  gemm->add_option("--dtype", g->dtype, "bf16: D holds BF16 as uint16");
  gemm->add_flag("--json", g->as_json);
  gemm->callback([g, &out] { run_gemm(*g, out); });
  add_identify_cublaslt(*sub, out);
#ifdef ZEROULP_HAVE_CONFORMANCE
  add_identify_plugin(*sub, out);
#endif
}

}  // namespace zeroulp::program
