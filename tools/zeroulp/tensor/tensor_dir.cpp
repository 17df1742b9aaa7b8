#include "tools/zeroulp/tensor/tensor_dir.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "tools/zeroulp/json_input.hpp"
#include "tools/zeroulp/tensor/convention_json.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::program {
namespace {

namespace fs = std::filesystem;

constexpr const char* parts[] = {"codes.npy", "scales.npy", "meta.json"};

/// Throws with the path and what to do about it.
[[noreturn]] void refuse(const fs::path& where, std::string_view what) {
  throw input_error(fmt::format("{}: {}", where.string(), what));
}

template <class T>
array to_array(const matrix<T>& m) {
  return make_array<T>(
      {static_cast<std::size_t>(m.rows), static_cast<std::size_t>(m.cols)},
      std::span<const T>(m.data));
}

dtype type_for(int bits) {
  if (bits <= 8) return dtype::u8;
  return bits <= 16 ? dtype::u16 : dtype::u32;
}

/// Calls use(element) for all of them, in their order, as 32-bit words.
template <class Use>
void for_each_code(const code_matrix& codes, Use use) {
  visit_bits(codes.stored, [&use](auto elements) {
    for (const auto e : elements) use(static_cast<std::uint32_t>(e));
  });
}

/// Any unsigned array, or floats as bits, widened.
matrix<std::uint32_t> widen(array a, const fs::path& file) {
  return program::widen(code_matrix(std::move(a), file));
}

json read_meta(const fs::path& file) {
  constexpr const char* remedy = "quantize again";
  auto meta = read_json(file, remedy);
  if (!meta.is_object()) {
    refuse(file, fmt::format("not a JSON object: {}", remedy));
  }
  return meta;
}

std::string field(const json& meta, const char* name, const fs::path& file) {
  const auto at = meta.find(name);
  if (at == meta.end() || !at->is_string()) {
    refuse(file, fmt::format("field '{}' is missing or not text", name));
  }
  return at->get<std::string>();
}

/// The shape of the scale matrix of an m x n tensor.
std::pair<std::ptrdiff_t, std::ptrdiff_t> groups_of(group_shape g,
                                                    std::ptrdiff_t m,
                                                    std::ptrdiff_t n) {
  return {ceil_div(m, g.height(m)), ceil_div(n, g.width(n))};
}

/// Scales run along M or N in rows and along K in columns; column groups (such
/// as 128x1) have K along their rows.
bool k_along_rows(group_shape g) { return g.cols == 1 && g.rows != 1; }

/// Returns true iff `bits` is a scale that ue8m0 has a byte for.
bool has_exponent_byte(std::uint32_t bits) {
  std::uint32_t word = 0;
  lay_out_scales(scale_layout::packed_ue8m0,
                 matrix_view<const std::uint32_t>(&bits, 1, 1),
                 matrix_view<std::uint32_t>(&word, 1, 1));
  return (word & 0xff) != 0xff;
}

void read_scales(const fs::path& dir, const json& meta, tensor& t) {
  const auto [rows, cols] = groups_of(t.group, t.codes.rows, t.codes.cols);
  t.scales = matrix<std::uint32_t>(rows, cols);
  if (t.group == group_shape{0, 0}) {
    const auto file = dir / "meta.json";
    t.scales = matrix<std::uint32_t>(1, 1);
    t.scales.data[0] = static_cast<std::uint32_t>(parse_code(
        field(meta, "scale_bits", file), 32, file.string() + ": scale_bits"));
    check_scale(t.scales.data[0], t, file, 0, 0);
    return;
  }
  const auto file = dir / "scales.npy";
  auto stored = read_npy(file);
  const bool words = t.layout == scale_layout::packed_ue8m0;
  if (stored.type != (words ? dtype::u32 : dtype::f32)) {
    refuse(file, fmt::format("scales are {}: layout {} needs {}",
                             descr_of(stored.type), name_of(t.layout),
                             words ? "uint32" : "float32"));
  }
  const auto laid_out = widen(std::move(stored), file);
  auto scales = t.scales.view();
  if (k_along_rows(t.group)) scales = scales.transposed();
  const auto shape = stored_shape(t.layout, scales.rows, scales.cols);
  if (laid_out.rows != shape.rows || laid_out.cols != shape.cols) {
    refuse(file, fmt::format("{} x {} scales: {} x {} codes in groups {} with "
                             "layout {} need {} x {}",
                             laid_out.rows, laid_out.cols, t.codes.rows,
                             t.codes.cols, name_of(t.group), name_of(t.layout),
                             shape.rows, shape.cols));
  }
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      scales(i, k) = scale_at(t.layout, laid_out.view(), i, k);
      check_scale(scales(i, k), t, file, i, k);
    }
  }
}

}  // namespace

// A group of zeros, or with Inf or NaN in it, gives 0, Inf or NaN under some
// conventions, of whatever kind.
void check_scale(std::uint32_t bits, const tensor& t, const fs::path& file,
                 std::ptrdiff_t i, std::ptrdiff_t j) {
  const unpacked s = decode(fp32, bits);
  if (s.is_nan()) return;
  const bool fits = t.scale == scale_kind::float32 || !s.is_finite() ||
                    (s.significand & (s.significand - 1)) == 0;
  if (!s.negative && fits) return;
  refuse(file,
         fmt::format("scale ({}, {}) is {}: expected {}", i, j, to_decimal(s),
                     fits ? "a number that is not negative"
                          : "a power of two, 0, Inf or NaN"));
}

void check_codes(const tensor& t, const fs::path& file) {
  const dtype type = t.codes.stored.type;
  if (type == dtype::f16 || type == dtype::f32 || type == dtype::f64) {
    refuse(file, fmt::format("elements are {}: codes are unsigned integers",
                             descr_of(type)));
  }
  const int bits = t.element.bits();
  std::size_t i = 0;
  for_each_code(t.codes, [&](std::uint32_t code) {
    if (bits < 32 && code >> bits != 0) {
      refuse(file, fmt::format("element {} is {:#x}: {} codes have {} bits", i,
                               code, name_of(t.element), bits));
    }
    ++i;
  });
}

std::pair<std::ptrdiff_t, std::ptrdiff_t> matrix_shape(const array& a,
                                                       const fs::path& file) {
  if (a.shape.size() != 2) {
    refuse(file, fmt::format("{} dimensions: a matrix has 2", a.shape.size()));
  }
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (a.shape[0] > most || a.shape[1] > most) {
    refuse(file,
           fmt::format("{} x {} elements: use at most {} rows and columns",
                       a.shape[0], a.shape[1], most));
  }
  return {static_cast<std::ptrdiff_t>(a.shape[0]),
          static_cast<std::ptrdiff_t>(a.shape[1])};
}

code_matrix::code_matrix(std::ptrdiff_t m, std::ptrdiff_t n, int bits)
    : rows(m), cols(n) {
  stored.type = type_for(bits);
  stored.shape = {static_cast<std::size_t>(m), static_cast<std::size_t>(n)};
  const auto bytes = static_cast<double>(size_of(stored.type));
  require_memory(static_cast<double>(m) * static_cast<double>(n) * bytes);
  stored.data.resize(static_cast<std::size_t>(m * n) * size_of(stored.type));
}

code_matrix::code_matrix(array read, const fs::path& file)
    : stored(std::move(read)) {
  std::tie(rows, cols) = matrix_shape(stored, file);
  if (size_of(stored.type) > 4) {
    refuse(file, "64-bit elements: use 32-bit or narrower");
  }
}

engine::code_view code_matrix::view() {
  return {stored.data.data(),
          rows,
          cols,
          cols,
          1,
          static_cast<int>(size_of(stored.type))};
}

engine::const_code_view code_matrix::view() const {
  return {stored.data.data(),
          rows,
          cols,
          cols,
          1,
          static_cast<int>(size_of(stored.type))};
}

std::uint32_t code_matrix::operator()(std::ptrdiff_t i,
                                      std::ptrdiff_t j) const {
  std::uint32_t code = 0;
  const auto at = static_cast<std::size_t>(i * cols + j);
  visit_bits(stored, [&code, at](auto elements) {
    code = static_cast<std::uint32_t>(elements[at]);
  });
  return code;
}

matrix<std::uint32_t> widen(const code_matrix& codes) {
  matrix<std::uint32_t> result(codes.rows, codes.cols);
  auto to = result.data.begin();
  for_each_code(codes, [&to](std::uint32_t code) { *to++ = code; });
  return result;
}

tensor read_tensor(const fs::path& dir) {
  const auto meta_file = dir / "meta.json";
  const auto meta = read_meta(meta_file);
  const auto version = meta.find("zeroulp");
  if (version != meta.end() && *version != 1) {
    refuse(meta_file, "a tensor of an unknown version: this program reads 1");
  }
  const auto spec = meta.find("spec");  // earlier tensors do not name it
  if (spec != meta.end() &&
      (!spec->is_number_integer() || !is_known_spec(*spec))) {
    refuse(meta_file, fmt::format("it is of version {} of the SPEC, this "
                                  "program of {}",
                                  spec->dump(), spec_version));
  }
  const auto named = [&](const char* name, auto parse) {
    const auto text = field(meta, name, meta_file);
    try {
      return parse(text);
    } catch (const input_error& e) {
      refuse(meta_file, e.what());
    }
  };
  if (meta.contains("block")) {
    refuse(dir,
           "a tensor with block scales: dequantize takes it, and gemm with a "
           "recipe such as mxfp8");
  }
  tensor t;
  t.element = named("format", parse_format);
  t.group = named("group", parse_group);
  t.scale = named("scale", parse_scale_kind);
  t.layout = named("layout", parse_scale_layout);
  const auto own = meta.find("convention_fields");
  if (own == meta.end()) {
    t.convention = named("convention", [](const std::string& name) {
      return name == unknown_convention ? name : parse_convention(name).name;
    });
  } else {
    t.convention = field(meta, "convention", meta_file);
    t.convention_fields = *own;
    (void)convention_json().read({{"fields", *own}}, meta_file.string());
  }
  const auto file = dir / "codes.npy";
  auto codes = read_npy(file);
  t.codes = code_matrix(std::move(codes), file);
  const auto shape = meta.find("shape");
  if (shape != meta.end() && *shape != json{t.codes.rows, t.codes.cols}) {
    refuse(file, fmt::format("{} x {} codes, but meta.json has shape {}",
                             t.codes.rows, t.codes.cols, shape->dump()));
  }
  if (t.element.bits() > 32) refuse(meta_file, "codes of more than 32 bits");
  check_codes(t, file);
  read_scales(dir, meta, t);
  return t;
}

void check_result(const fs::path& out) {
  std::error_code none;
  // Where links lead.
  auto target = fs::weakly_canonical(fs::absolute(out, none), none);
  if (none) target = out;  // a directory above may not be searched
  const auto dir = target.has_parent_path() ? target.parent_path() : ".";
  if (!fs::is_directory(dir, none)) {
    refuse(out, fmt::format("cannot write: there is no directory {}; name a "
                            "file that can be written",
                            dir.string()));
  }
  output_set().expect({target});
  const bool is_part = std::find(std::begin(parts), std::end(parts),
                                 target.filename()) != std::end(parts);
  if (is_part && fs::exists(dir / "meta.json", none)) {
    throw input_error(fmt::format(
        "--out {}: this is a part of the tensor {}; name another file",
        out.string(), dir.string()));
  }
}

void check_kept(const fs::path& in, const fs::path& dir) {
  std::error_code none;
  for (const char* part : parts) {
    if (fs::equivalent(dir / part, in, none)) {
      throw input_error(fmt::format(
          "--out {}: this would replace {}, which is read; name another "
          "directory",
          dir.string(), in.string()));
    }
  }
}

std::ptrdiff_t count_without_exponent(const tensor& t) {
  if (t.layout != scale_layout::packed_ue8m0) return 0;
  return std::count_if(t.scales.data.begin(), t.scales.data.end(),
                       [](std::uint32_t s) { return !has_exponent_byte(s); });
}

void write_tensor(const fs::path& dir, const tensor& t, const json& extra) {
  json meta{{"zeroulp", 1},
            {"spec", spec_version},
            {"format", name_of(t.element)},
            {"group", name_of(t.group)},
            {"scale", name_of(t.scale)},
            {"layout", name_of(t.layout)},
            {"convention", t.convention},
            {"shape", {t.codes.rows, t.codes.cols}}};
  if (!t.convention_fields.is_null()) {
    meta["convention_fields"] = t.convention_fields;
  }
  output_set files(dir);
  files.expect({"scales.npy"});  // also where it is to go
  files.add("codes.npy", t.codes.stored);
  if (t.group == group_shape{0, 0}) {
    const std::uint32_t bits = t.scales.data.at(0);
    meta["scale_value"] = json_number(to_double(decode(fp32, bits)));
    meta["scale_bits"] = to_hex(bits, 32);
  } else {
    auto scales = t.scales.view();
    if (k_along_rows(t.group)) scales = scales.transposed();
    const auto shape = stored_shape(t.layout, scales.rows, scales.cols);
    matrix<std::uint32_t> stored(shape.rows, shape.cols);
    lay_out_scales(t.layout, scales, stored.view());
    array a = to_array(stored);
    if (t.layout != scale_layout::packed_ue8m0) a.type = dtype::f32;
    files.add("scales.npy", a);
  }
  meta.update(extra);
  files.add("meta.json", to_text(meta));
  files.commit();
  // Of a tensor that was there before.
  std::error_code ignored;
  if (t.group == group_shape{0, 0}) fs::remove(dir / "scales.npy", ignored);
}

matrix<std::uint32_t> read_fp32(const fs::path& file) {
  auto a = read_npy(file);
  if (a.type == dtype::f32) return widen(std::move(a), file);
  refuse(file, fmt::format("elements are {}: only float32 is taken here",
                           descr_of(a.type)));
}

bool holds_bf16(const array& a, const std::string& dtype_name,
                const fs::path& file) {
  if (dtype_name.empty()) return false;
  if (dtype_name != "bf16") {
    throw input_error(fmt::format(
        "--dtype '{}': only bf16 needs saying (uint16 elements)", dtype_name));
  }
  if (a.type == dtype::u16) return true;
  refuse(file, fmt::format("elements are {}: --dtype bf16 needs uint16",
                           descr_of(a.type)));
}

input_matrix read_input(const fs::path& file, const std::string& dtype_name) {
  auto a = read_npy(file);
  input_matrix x;
  if (holds_bf16(a, dtype_name, file)) {
    x.element = bf16;
  } else if (a.type == dtype::f32) {
    x.element = fp32;
  } else if (a.type == dtype::f16) {
    x.element = fp16;
  } else {
    refuse(file,
           fmt::format("elements are {}: use float32, float16, or uint16 with "
                       "--dtype bf16",
                       descr_of(a.type)));
  }
  x.bits = code_matrix(std::move(a), file);
  return x;
}

}  // namespace zeroulp::program
