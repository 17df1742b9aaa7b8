#include "tools/zeroulp/tensor/block_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/json_input.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::program {
namespace {

namespace fs = std::filesystem;

constexpr const char* remedy = "quantize again";
constexpr const char* levels[] = {"none", "tensor", "row"};

[[noreturn]] void refuse(const fs::path& where, std::string_view what) {
  throw input_error(fmt::format("{}: {}", where.string(), what));
}

std::string text_field(const json& meta, const char* name,
                       const fs::path& file) {
  const auto at = meta.find(name);
  if (at == meta.end() || !at->is_string()) {
    refuse(file, fmt::format("field '{}' is missing or not text", name));
  }
  return at->get<std::string>();
}

template <class Parse>
auto parsed_field(const json& meta, const char* name, const fs::path& file,
                  Parse parse) {
  try {
    return parse(text_field(meta, name, file));
  } catch (const input_error& e) {
    const std::string_view what = e.what();
    if (what.starts_with(file.string())) throw;
    refuse(file, what);
  }
}

int block_field(const json& meta, const fs::path& file) {
  const auto at = meta.find("block");
  if (at == meta.end() || !at->is_number_integer() || *at < 1 || *at > 1024) {
    refuse(file, "field 'block' is missing or no number from 1 to 1024");
  }
  return at->get<int>();
}

second_level level_of(const block_tensor& t) {
  if (t.second.rows == 0) return second_level::none;
  return t.second.rows == 1 ? second_level::tensor : second_level::row;
}

std::ptrdiff_t blocks_of(const block_tensor& t) {
  return ceil_div(t.codes.cols, t.block);
}

array stored_scales(const block_tensor& t) {
  if (!t.interleaved) {
    return make_array<std::uint8_t>({static_cast<std::size_t>(t.scales.rows),
                                     static_cast<std::size_t>(t.scales.cols)},
                                    t.scales.data);
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(
      interleaved_bytes(t.scales.rows, t.scales.cols)));
  interleave_scales(t.scales.view(), bytes.data());
  return make_array<std::uint8_t>({bytes.size()}, bytes);
}

void read_second(const fs::path& dir, block_tensor& t, const std::string& level,
                 const fs::path& meta_file) {
  if (level == levels[0]) return;
  const auto file = dir / "second.npy";
  t.second = read_fp32(file);
  const std::ptrdiff_t rows = level == levels[2] ? t.codes.rows : 1;
  if (level != levels[1] && level != levels[2]) {
    refuse(meta_file,
           fmt::format("second level '{}': none, tensor or row", level));
  }
  if (t.second.rows != rows || t.second.cols != 1) {
    refuse(file, fmt::format("{} x {} scales of the second level, expected {} "
                             "x 1",
                             t.second.rows, t.second.cols, rows));
  }
}

}  // namespace

std::string name_of(block_scale s) {
  return s == block_scale::power_of_two ? "ue8m0" : "ue4m3";
}

const char* name_of(second_level l) { return levels[static_cast<int>(l)]; }

block_scale parse_block_scale(const std::string& text) {
  for (const auto s : {block_scale::power_of_two, block_scale::unsigned_e4m3}) {
    if (name_of(s) == text) return s;
  }
  throw input_error(
      fmt::format("block scales of '{}': use ue8m0 or ue4m3", text));
}

second_level parse_second_level(const std::string& text) {
  const auto* at = std::find(std::begin(levels), std::end(levels), text);
  if (at == std::end(levels)) {
    throw input_error(
        fmt::format("--second '{}': use none, tensor or row", text));
  }
  return static_cast<second_level>(at - std::begin(levels));
}

bool parse_block_layout(const std::string& text) {
  if (text == "128x4") return true;
  if (text == "row_major") return false;
  throw input_error(
      fmt::format("layout '{}' of block scales: use row_major or 128x4", text));
}

bool is_block_convention(const std::string& text) {
  return std::any_of(std::begin(named_block_conventions),
                     std::end(named_block_conventions),
                     [&text](const auto& row) { return row.name == text; });
}

bool is_block_tensor(const fs::path& dir) {
  std::error_code none;
  const auto file = dir / "meta.json";
  if (!fs::exists(file, none)) return false;
  const auto meta = read_json(file, remedy);
  return meta.is_object() && meta.contains("block");
}

matrix<std::uint8_t> read_block_scales(const array& stored,
                                       const block_tensor& t,
                                       const fs::path& file) {
  if (stored.type != dtype::u8) {
    refuse(file, fmt::format("block scales are {}: they are bytes, uint8",
                             descr_of(stored.type)));
  }
  const std::ptrdiff_t rows = t.codes.rows;
  const std::ptrdiff_t blocks = blocks_of(t);
  matrix<std::uint8_t> scales(rows, blocks);
  const auto bytes = stored.as<std::uint8_t>();
  if (t.interleaved) {
    const auto size = static_cast<std::size_t>(interleaved_bytes(rows, blocks));
    if (bytes.size() != size) {
      refuse(file, fmt::format("{} bytes: {} x {} scales in the layout 128x4 "
                               "are {}",
                               bytes.size(), rows, blocks, size));
    }
    separate_scales(bytes.data(), scales.view());
    return scales;
  }
  const auto [m, n] = matrix_shape(stored, file);
  if (m != rows || n != blocks) {
    refuse(file, fmt::format("{} x {} scales: {} x {} codes in blocks of {} "
                             "need {} x {}",
                             m, n, rows, t.codes.cols, t.block, rows, blocks));
  }
  std::copy(bytes.begin(), bytes.end(), scales.data.begin());
  return scales;
}

block_tensor read_block_tensor(const fs::path& dir) {
  const auto meta_file = dir / "meta.json";
  const auto meta = read_json(meta_file, remedy);
  if (!meta.is_object()) refuse(meta_file, "not a JSON object");
  const auto spec = meta.find("spec");
  if (spec == meta.end() || !spec->is_number_integer() ||
      !is_known_spec(*spec)) {
    refuse(meta_file, "it is of no version of the SPEC that this program has");
  }
  block_tensor t;
  t.element = parsed_field(meta, "format", meta_file, parse_format);
  t.scale = parsed_field(meta, "scale", meta_file, parse_block_scale);
  t.block = block_field(meta, meta_file);
  t.interleaved = parsed_field(meta, "layout", meta_file, parse_block_layout);
  t.convention = text_field(meta, "convention", meta_file);
  const auto codes_file = dir / "codes.npy";
  t.codes = code_matrix(read_npy(codes_file), codes_file);
  if (t.element.bits() > 24) refuse(meta_file, "codes of more than 24 bits");
  tensor same;
  same.element = t.element;
  same.codes = t.codes;
  check_codes(same, codes_file);
  const auto scales_file = dir / "scales.npy";
  t.scales = read_block_scales(read_npy(scales_file), t, scales_file);
  read_second(dir, t, text_field(meta, "second", meta_file), meta_file);
  return t;
}

void write_block_tensor(const fs::path& dir, const block_tensor& t,
                        const json& extra) {
  json meta{{"zeroulp", 1},
            {"spec", spec_version},
            {"format", zeroulp::name_of(t.element)},
            {"block", t.block},
            {"scale", name_of(t.scale)},
            {"layout", t.interleaved ? "128x4" : "row_major"},
            {"second", name_of(level_of(t))},
            {"convention", t.convention},
            {"shape", {t.codes.rows, t.codes.cols}}};
  meta.update(extra);
  output_set files(dir);
  files.expect({"second.npy"});  // also where it is to go
  files.add("codes.npy", t.codes.stored);
  files.add("scales.npy", stored_scales(t));
  if (t.second.rows > 0) {
    auto second = make_array<std::uint32_t>(
        {static_cast<std::size_t>(t.second.rows), 1}, t.second.data);
    second.type = dtype::f32;
    files.add("second.npy", second);
  }
  files.add("meta.json", to_text(meta));
  files.commit();
  std::error_code ignored;
  if (t.second.rows == 0) fs::remove(dir / "second.npy", ignored);
}

void report(const block_tensor& t, const std::string& out, bool as_json) {
  const char* level = name_of(level_of(t));
  if (as_json) {
    print_json({{"out", out},
                {"format", zeroulp::name_of(t.element)},
                {"shape", {t.codes.rows, t.codes.cols}},
                {"block", t.block},
                {"scale", name_of(t.scale)},
                {"scales", {t.scales.rows, t.scales.cols}},
                {"second", level}});
    return;
  }
  print(fmt::format(
      "{}: {} x {} {} codes, {} {} scales of 1x{}{}\n", out, t.codes.rows,
      t.codes.cols, zeroulp::name_of(t.element), t.scales.data.size(),
      name_of(t.scale), t.block,
      t.second.rows == 0
          ? ""
          : fmt::format(", {} fp32 of the second level", t.second.rows)));
}

block_quantizer block_quantizer_of(const block_quantize_request& q,
                                   format from) {
  const auto named = parse_block_convention(q.convention);
  const bool two = named.value.scale == block_scale::unsigned_e4m3;
  block_quantizer how;
  how.from = from;
  how.how = named.value;
  how.to = q.format.empty() ? (two ? e2m1 : e4m3) : parse_format(q.format);
  how.level = !q.second.empty() ? parse_second_level(q.second)
              : two             ? second_level::tensor
                                : second_level::none;
  if (q.largest_scale < 1 || q.largest_scale > 448) {
    throw input_error(
        fmt::format("--scale-max {}: use 1 to 448", q.largest_scale));
  }
  how.largest_scale = static_cast<std::int16_t>(q.largest_scale);
  if (q.block_rows < 1 || q.block_rows > 1024) {
    throw input_error(
        fmt::format("--block-rows {}: use 1 to 1024", q.block_rows));
  }
  how.block_rows = static_cast<std::int16_t>(q.block_rows);
  if (q.block_rows > 1 && how.level == second_level::row) {
    throw input_error(
        "--block-rows: rows that share a scale have no second level of their "
        "own: --second none or tensor");
  }
  if (!two && (how.level != second_level::none || q.largest_scale != 448)) {
    throw input_error(fmt::format(
        "--convention {}: scales of ue8m0 have no second level", named.name));
  }
  check_target(how.to, "--format");
  if (!is_valid(how)) {
    throw input_error(fmt::format("--format {}: {} quantizes to e2m1",
                                  zeroulp::name_of(how.to), named.name));
  }
  return how;
}

matrix<std::uint32_t> random_of(const block_quantize_request& q,
                                std::ptrdiff_t rows, std::ptrdiff_t cols) {
  if (!q.random.empty()) {
    const auto stored = read_npy(q.random);
    const auto [m, n] = matrix_shape(stored, q.random);
    if (stored.type != dtype::u32 || m != rows || n != cols) {
      throw input_error(fmt::format(
          "{}: {} x {} of {}: stochastic rounding takes uint32, {} x {}",
          q.random, m, n, descr_of(stored.type), rows, cols));
    }
    matrix<std::uint32_t> words(rows, cols);
    const auto from = stored.as<std::uint32_t>();
    std::copy(from.begin(), from.end(), words.data.begin());
    return words;
  }
  if (!q.random_seed) return {};
  const auto* source = std::find_if(
      std::begin(named_random_sources), std::end(named_random_sources),
      [&](const auto& row) { return row.name == q.random_source; });
  if (source == std::end(named_random_sources)) {
    throw input_error(
        fmt::format("--random-source '{}': use philox4x32_10 or splitmix64",
                    q.random_source));
  }
  if (q.random_bits < 1 || q.random_bits > 32) {
    throw input_error(
        fmt::format("--random-bits {}: use 1 to 32", q.random_bits));
  }
  matrix<std::uint32_t> words(rows, cols);
  std::uint64_t index = 0;
  for (auto& word : words.data) {
    word = top_bits(random_word(source->value, *q.random_seed, index++),
                    q.random_bits);
  }
  return words;
}

block_tensor quantize_in_blocks(const block_quantize_request& q,
                                const input_matrix& x) {
  const auto how = block_quantizer_of(q, x.element);
  const auto random = random_of(q, x.bits.rows, x.bits.cols);
  block_tensor t;
  t.element = how.to;
  t.scale = how.how.scale;
  t.block = how.how.block;
  t.convention = q.convention;
  t.codes = code_matrix(x.bits.rows, x.bits.cols, t.element.bits());
  t.scales = matrix<std::uint8_t>(x.bits.rows, blocks_of(t));
  if (how.level != second_level::none) {
    t.second = matrix<std::uint32_t>(
        how.level == second_level::row ? x.bits.rows : 1, 1);
  }
  engine::quantize_blocks(
      how, x.bits.view(), t.codes.view(), t.scales.view(), t.second.view(),
      random.rows == 0 ? random_view{} : random_view(random.view()));
  return t;
}

code_matrix dequantized(const block_tensor& t, format to) {
  code_matrix x(t.codes.rows, t.codes.cols, to.bits());
  if (to == fp32) x.stored.type = dtype::f32;
  if (to == fp16) x.stored.type = dtype::f16;
  matrix_view<const std::uint32_t> second;
  if (t.second.rows > 0) second = t.second.view();
  engine::dequantize_blocks(t.element, t.scale, t.block, t.codes.view(),
                            t.scales.view(), second, to, x.view());
  return x;
}

}  // namespace zeroulp::program
