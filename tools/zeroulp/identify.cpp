// identify: which convention or recipe turns these inputs into these outputs.

#include <fmt/format.h>

#include "program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "fuzz/identify_gemm.hpp"
#include "fuzz/identify_quantizer.hpp"
#include "tensor_dir.hpp"
#endif

namespace zeroulp::program {
namespace {

struct quantizer_request {
  std::string x;
  std::string codes;
  std::string scales;
  std::string format;
  std::string group;
  std::string dtype;
  bool as_json = false;
};

struct gemm_request {
  std::string a;
  std::string b;
  std::string d;
  std::string a_scales;
  std::string b_scales;
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

/// FP32 numbers (or, where `exponents` is asked for, uint8 ue8m0 codes); a
/// vector is a column, a number a 1 x 1 matrix.
grid read_scales(const std::string& file, bool* exponents = nullptr) {
  auto a = read_npy(file);
  if (exponents != nullptr) *exponents = a.type == dtype::u8;
  if (a.type != dtype::f32 && (exponents == nullptr || a.type != dtype::u8)) {
    refuse(file, a,
           exponents == nullptr
               ? "scales are float32"
               : "scales are float32, or uint8 with the exponents of ue8m0");
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
  g.words = input.bits.data;
  return g;
}

json class_json(bool exact, std::uint64_t tried,
                const fuzz::definition_class& c) {
  json fields = json::object();
  for (const auto& f : c.fields) fields[f.name] = f.values;
  return {{"exact", exact},
          {"tried", tried},
          {"names", c.names},
          {"members", c.members},
          {"any_combination", c.any_combination},
          {"fields", fields}};
}

/// What the data say of each field, and what they do not.
std::string class_text(const fuzz::definition_class& c) {
  table said{{"field", "value"}, {}};
  std::string open;
  for (const auto& f : c.fields) {
    if (f.values.size() == 1) {
      said.rows.push_back({f.name, f.values[0]});
    } else {
      open += fmt::format("  {}: {}\n", f.name, fmt::join(f.values, " | "));
    }
  }
  std::string text = fmt::format(
      "named: {}\n",
      c.names.empty() ? "none" : fmt::format("{}", fmt::join(c.names, ", ")));
  text += to_text(said);
  if (open.empty()) return text;
  text += "the data does not say:\n" + open;
  if (!c.any_combination) {
    text += fmt::format("  (not in every combination: {} definitions)\n",
                        c.members);
  }
  return text;
}

std::string head_text(bool exact, std::uint64_t tried, std::uint64_t members) {
  return exact ? fmt::format("every bit is given by {} of {} definitions\n",
                             members, tried)
               : fmt::format(
                     "none of {} definitions gives every bit; the "
                     "nearest:\n",
                     tried);
}

json word_json(const fuzz::wrong_word& w, int bits) {
  return {{"row", w.i},
          {"col", w.j},
          {"given", to_hex(w.given, bits)},
          {"expected", to_hex(w.expected, bits)}};
}

std::string word_text(const fuzz::wrong_word& w, format f) {
  ulp_histogram h;
  h.add(w.given, w.expected, order_of(f));
  const auto apart = h.nan_mismatches + h.nan_payload > 0
                         ? std::string()
                         : fmt::format(", {} ulps", h.max_distance);
  return fmt::format("given {}, expected {}{}", describe(f, w.given),
                     describe(f, w.expected), apart);
}

void run_quantizer(const quantizer_request& q, outcome& out) {
  fuzz::quantizer_evidence e;
  e.x = read_numbers(q.x, q.dtype, &e.from);
  e.codes = read_codes(q.codes, &e.code_bits);
  e.scales = read_scales(q.scales, &e.exponents);
  e.x_name = q.x;
  e.codes_name = q.codes;
  e.scales_name = q.scales;
  if (!q.format.empty()) {
    e.to = parse_format(q.format);
    check_target(*e.to, "--format");
  }
  if (!q.group.empty()) e.group = parse_group(q.group);
  const auto a = fuzz::identify_quantizer(e);
  out.status = a.exact ? 0 : 1;
  const auto scales = e.scales.words.size();
  const auto codes = e.codes.words.size();
  const format stored = e.exponents ? ue8m0 : fp32;
  if (q.as_json) {
    auto result = class_json(a.exact, a.tried, a.found);
    result["scales"] = {{"count", scales}, {"differ", a.scales_differ}};
    result["codes"] = {{"count", codes}, {"differ", a.codes_differ}};
    if (a.first_scale) {
      result["first_scale"] = word_json(a.first_scale->at, stored.bits());
      result["first_scale"]["amax"] = to_hex(a.first_scale->amax, 32);
    }
    if (a.first_code) {
      result["first_code"] = word_json(a.first_code->at, a.how.to.bits());
      result["first_code"]["x"] = to_hex(a.first_code->x, 32);
    }
    return print_json(result);
  }
  std::string text = head_text(a.exact, a.tried, a.found.members);
  text += fmt::format("{} of {} scales and {} of {} codes agree\n",
                      scales - a.scales_differ, scales, codes - a.codes_differ,
                      codes);
  if (a.first_scale) {
    const auto& w = *a.first_scale;
    text +=
        fmt::format("first scale at ({}, {}), amax {}: {}\n", w.at.i, w.at.j,
                    describe(fp32, w.amax), word_text(w.at, stored));
  }
  if (a.first_code) {
    const auto& w = *a.first_code;
    text += fmt::format("first code at ({}, {}), x {}: {}\n", w.at.i, w.at.j,
                        describe(fp32, w.x), word_text(w.at, a.how.to));
  }
  print(text + class_text(a.found));
}

void run_gemm(const gemm_request& q, outcome& out) {
  const auto operand = [](const std::string& f, const std::string& codes,
                          const std::string& scales) {
    fuzz::operand_evidence x{
        parse_format(f), read_codes(codes), {}, codes, scales};
    if (!scales.empty()) x.scales = read_scales(scales);
    return x;
  };
  fuzz::gemm_evidence e;
  e.a = operand(q.format_a, q.a, q.a_scales);
  e.b = operand(q.format_b, q.b, q.b_scales);
  e.d = read_numbers(q.d, q.dtype, &e.output);
  e.d_name = q.d;
  e.c_name = q.c;
  if (!q.c.empty()) {
    format f{};
    e.c = read_numbers(q.c, "", &f);
    if (!(f == fp32)) throw input_error(q.c + ": C must be float32");
  }
  if (e.output == fp16) {
    throw input_error(q.d + ": D must be float32, or uint16 with --dtype bf16");
  }
  const auto a = fuzz::identify_gemm(e);
  out.status = a.exact ? 0 : 1;
  const auto count = e.d.words.size();
  if (q.as_json) {
    auto result = class_json(a.exact, a.tried, a.found);
    result["outputs"] = {{"count", count}, {"differ", a.outputs_differ}};
    if (a.first) result["first"] = word_json(*a.first, e.output.bits());
    return print_json(result);
  }
  std::string text = head_text(a.exact, a.tried, a.found.members);
  text +=
      fmt::format("{} of {} outputs agree\n", count - a.outputs_differ, count);
  if (a.first) {
    text += fmt::format("first at ({}, {}): {}\n", a.first->i, a.first->j,
                        word_text(*a.first, e.output));
  }
  print(text + class_text(a.found));
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

void add_identify(CLI::App& app, outcome& out) {
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
                   "float32 scales or inverses, or uint8 exponents; may be "
                   "transposed")
      ->required();
  quantizer->add_option("--format", z->format,
                        "of the codes; any that fits if absent");
  quantizer->add_option("--group", z->group,
                        "RxC or tensor; any that fits if absent");
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
  gemm->add_option("--a-scales", g->a_scales, "float32; may be transposed");
  gemm->add_option("--b-scales", g->b_scales, "float32; may be transposed");
  gemm->add_option("--c", g->c, "float32, m x n: fl(acc + C)");
  gemm->add_option("--format-a", g->format_a, "of the codes of A")
      ->capture_default_str();
  gemm->add_option("--format-b", g->format_b, "of the codes of B")
      ->capture_default_str();
  gemm->add_option("--dtype", g->dtype, "bf16: D holds BF16 as uint16");
  gemm->add_flag("--json", g->as_json);
  gemm->callback([g, &out] { run_gemm(*g, out); });
}

}  // namespace zeroulp::program
