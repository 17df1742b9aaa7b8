#include "tools/checkpoint/weights/requantize.hpp"

#include <fmt/format.h>

#include <bit>
#include <mutex>
#include <numeric>

#include "tools/checkpoint/weights/dequantize.hpp"
#include "tools/checkpoint/weights/hash.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

std::ptrdiff_t extent(count_t n) { return static_cast<std::ptrdiff_t>(n); }

bool is_per_tensor(group_shape g) { return g.rows == 0 && g.cols == 0; }

count_t ceil_of(count_t n, std::int32_t size) {
  if (size <= 0) return 1;
  return (n + static_cast<count_t>(size) - 1) / static_cast<count_t>(size);
}

/// Whether numbers of this type are quantized.
bool is_plain(element type) {
  return type == element::bf16 || type == element::f16 || type == element::f32;
}

/// The shapes of a weight's matrices and of their scales.
void set_shapes(requantized& w, group_shape group) {
  const std::size_t rank = w.shape.size();
  w.cols = w.shape.back();
  w.rows = w.shape[rank - 2];
  for (std::size_t i = 0; i + 2 < rank; ++i) w.outer *= w.shape[i];
  if (is_per_tensor(group)) return;  // one number
  w.grid.assign(w.shape.begin(), w.shape.end() - 2);
  w.grid.push_back(ceil_of(w.rows, group.rows));
  w.grid.push_back(ceil_of(w.cols, group.cols));
}

void name_outputs(const checkpoint& c, const requantize_request& q,
                  requantized& w) {
  w.name = value_name(*w.from, w.q);
  const std::string_view ending = q.family->weight;
  if (!w.name.ends_with(ending)) {
    refuse({"family", c.file_of(*w.from), w.from->name,
            fmt::format("a name that ends in {}, as those of {} do", ending,
                        q.family->name),
            w.name});
  }
  w.scale_name =
      w.name.substr(0, w.name.size() - ending.size()) + q.family->scale;
}

/// The numbers of a tile, in the format that the quantizer reads.
struct tile_numbers_t {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> words;
  engine::const_code_view view;
};

/// A tile of the weight's own matrices, whose leading dimensions may be rows.
tile own_tile(const requantized& w, const tile& t) {
  if (w.q != nullptr && w.q->outer == w.outer) return t;
  return {0, t.outer * w.rows + t.i, t.j, t.m, t.n};
}

void read_tile(const checkpoint& c, const requantize_request& q,
               const requantized& w, const tile& t, tile_numbers_t& out) {
  const tile own = own_tile(w, t);
  const auto m = extent(t.m);
  const auto n = extent(t.n);
  if (w.q != nullptr) {
    read_fp32(c, *w.from, w.q, own, q.read, out.words);
    out.view = {out.words.data(), m, n, n, 1, 4};
    return;
  }
  read_elements(c, *w.from, own, out.bytes);
  out.view = {out.bytes.data(), m, n, n, 1, bits_of(w.from->type) / 8};
}

/// How tiles may cut a weight: groups whole, those of its old scales, too.
matrices tiles_of(const requantized& w) {
  matrices m{w.outer, w.rows, w.cols, 1, 2};
  const group_shape g = w.rule.group;
  if (!is_per_tensor(g)) {
    m.height = g.rows > 0 ? static_cast<count_t>(g.rows) : w.rows;
    m.width = g.cols > 0 ? static_cast<count_t>(g.cols) : w.cols;
  }
  if (w.q == nullptr) return m;
  const matrices old = matrices_of(*w.q);
  m.height = std::lcm(m.height, old.height);
  m.width = std::lcm(m.width, old.width);
  return m;
}

/// The numbers that changed, of one tile.
void compare_tile(const requantized& w, const tile& t,
                  engine::const_code_view x,
                  const std::vector<std::uint8_t>& codes,
                  const std::vector<std::uint32_t>& scales, std::ptrdiff_t gm,
                  std::ptrdiff_t gn) {
  const auto m = extent(t.m);
  const auto n = extent(t.n);
  std::vector<std::uint32_t> before(t.count());
  std::vector<std::uint32_t> after(t.count());
  engine::recode(w.rule.from, x, fp32,
                 matrix_view<std::uint32_t>(before.data(), m, n),
                 rounding::nearest_even, cuda_nosat);
  engine::dequantize(w.rule.to, w.rule.group,
                     matrix_view<const std::uint8_t>(codes.data(), m, n),
                     matrix_view<const std::uint32_t>(scales.data(), gm, gn),
                     matrix_view<std::uint32_t>(after.data(), m, n));
  change part;
  part.count = t.count();
  for (count_t k = 0; k < part.count; ++k) {
    if (before[k] == after[k]) continue;
    part.add({t.outer * w.rows + t.i + k / t.n, t.j + k % t.n,
              static_cast<double>(std::bit_cast<float>(before[k])),
              static_cast<double>(std::bit_cast<float>(after[k]))});
  }
  w.changes->merge(part);
}

/// Where the outputs go; null: nowhere.
struct destination {
  const shard_writer* out = nullptr;
  std::size_t codes = 0;
  std::size_t scales = 0;
};

void write_scales(const requantize_request& q, const requantized& w,
                  const tile& t, const std::vector<std::uint32_t>& scales,
                  count_t gm, count_t gn, const destination& to) {
  const group_shape g = w.rule.group;
  const count_t rows = is_per_tensor(g) ? 1 : ceil_of(w.rows, g.rows);
  const count_t cols = is_per_tensor(g) ? 1 : ceil_of(w.cols, g.cols);
  const auto bytes = static_cast<count_t>(bits_of(q.scales) / 8);
  std::vector<std::byte> stored(gm * gn * bytes);
  const auto count = extent(gm * gn);
  engine::recode(fp32,
                 matrix_view<const std::uint32_t>(scales.data(), 1, count),
                 row_of(q.scales).holds.value(),
                 engine::code_view(stored.data(), 1, count, count, 1,
                                   static_cast<int>(bytes)),
                 rounding::nearest_even, ocp_nonsaturate);
  const auto group_at = [](count_t at, std::int32_t size) {
    return size > 0 ? at / static_cast<count_t>(size) : 0;
  };
  const tile groups{t.outer, group_at(t.i, g.rows), group_at(t.j, g.cols), gm,
                    gn};
  write_tile(*to.out, to.scales, groups, t.outer * rows + groups.i, cols, bytes,
             stored.data());
}

/// Quantizes a tile: by its own amax, or that of the whole tensor.
void quantize_tile(const checkpoint& c, const requantize_request& q,
                   const requantized& w, const tile& t,
                   const std::uint32_t* amax, const destination& to) {
  tile_numbers_t x;
  read_tile(c, q, w, t, x);
  const auto m = extent(t.m);
  const auto n = extent(t.n);
  const count_t gm = amax ? 1 : ceil_of(t.m, w.rule.group.rows);
  const count_t gn = amax ? 1 : ceil_of(t.n, w.rule.group.cols);
  std::vector<std::uint8_t> codes(t.count());
  std::vector<std::uint32_t> scales(gm * gn);
  const matrix_view<std::uint8_t> code_view(codes.data(), m, n);
  const matrix_view<std::uint32_t> scale_view(scales.data(), extent(gm),
                                              extent(gn));
  if (amax != nullptr) {
    engine::quantize(w.rule, x.view,
                     matrix_view<const std::uint32_t>(amax, 1, 1), code_view,
                     scale_view);
  } else {
    engine::quantize(w.rule, x.view, code_view, scale_view);
  }
  compare_tile(w, t, x.view, codes, scales, extent(gm), extent(gn));
  if (to.out == nullptr) return;
  write_tile(*to.out, to.codes, t, t.outer * w.rows + t.i, w.cols, 1,
             reinterpret_cast<const std::byte*>(codes.data()));
  // Every tile of a tensor with one scale has it.
  if (amax != nullptr && (t.outer != 0 || t.i != 0 || t.j != 0)) return;
  write_scales(q, w, t, scales, gm, gn, to);
}

/// The amax of a whole tensor, FP32 bits: a pass of its own.
std::uint32_t amax_of(const checkpoint& c, const requantize_request& q,
                      const requantized& w, const work_options& options) {
  std::vector<job> jobs;
  std::mutex guard;
  std::uint32_t amax = 0;
  for_each_tile(tiles_of(w), [&](const tile& t) {
    jobs.push_back({0, [&, t] {
                      tile_numbers_t x;
                      read_tile(c, q, w, t, x);
                      std::uint32_t part = 0;
                      engine::group_amaxes(
                          w.rule, x.view,
                          matrix_view<std::uint32_t>(&part, 1, 1));
                      const std::lock_guard lock(guard);
                      amax = std::max(amax, part);
                    }});
  });
  work_state state;
  run_jobs(jobs, {options.threads, {}}, state);
  return amax;
}

void add_quantization(const checkpoint& c, const requantize_request& q,
                      const requantized& w, const destination& to,
                      const work_options& options, std::vector<job>& jobs) {
  w.changes->sum = {};
  w.changes->sum.of = w.from;
  w.changes->sum.group = w.rule.group;
  std::shared_ptr<std::uint32_t> amax;
  if (is_per_tensor(w.rule.group)) {
    amax = std::make_shared<std::uint32_t>(amax_of(c, q, w, options));
  }
  const double share =
      static_cast<double>(w.from->bytes) /
      static_cast<double>(std::max<count_t>(w.outer * w.rows * w.cols, 1));
  for_each_tile(tiles_of(w), [&](const tile& t) {
    jobs.push_back(
        {share * static_cast<double>(t.count()), [&c, &q, &w, t, amax, to] {
           quantize_tile(c, q, w, t, amax.get(), to);
         }});
  });
}

/// What a config declares of the result.
json declaration(const requantize_request& q,
                 const std::vector<std::string>& kept) {
  json d{{"quant_method", "fp8"},
         {"fmt", q.to == element::f8_e5m2 ? "e5m2" : "e4m3"},
         {"activation_scheme", "dynamic"}};
  if (q.group.rows > 0 && q.group.cols > 0) {
    d["weight_block_size"] = {q.group.rows, q.group.cols};
  }
  if (q.scale != scale_kind::float32) d["scale_fmt"] = "ue8m0";
  if (!kept.empty()) d["modules_to_not_convert"] = kept;
  return d;
}

/// Whether a weight of numbers is to be quantized.
bool is_wanted(const checkpoint& c, const tensor& t) {
  return is_plain(t.type) && t.shape.size() >= 2 &&
         t.name.ends_with(".weight") && !c.config.kept_by(t.name);
}

}  // namespace

std::vector<requantized> requantized_of(const checkpoint& c, const pairs& p,
                                        const requantize_request& q) {
  const auto only = matcher(q.only, "--only");
  const auto except = matcher(q.except, "--except");
  std::vector<requantized> found;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    const tensor& t = c.tensors[i];
    const auto at = p.weight_at[i];
    if (p.scale_of[i] >= 0 || !only(t.name)) continue;
    const bool asks = at < 0 || q.except_codes;
    if (!q.except.empty() && asks && except(t.name)) continue;
    requantized w;
    w.from = &t;
    w.q = at >= 0 ? &p.weights[static_cast<std::size_t>(at)] : nullptr;
    if (w.q == nullptr && !is_wanted(c, t)) continue;
    w.shape = w.q != nullptr ? w.q->shape : t.shape;
    if (w.shape.size() < 2 || bytes_of(element::u8, w.shape) == 0U) continue;
    w.rule = {w.q != nullptr ? fp32 : row_of(t.type).holds.value(),
              row_of(q.to).holds.value(), q.how.value, q.scale, q.group};
    w.changes = std::make_shared<shared_change>();
    set_shapes(w, q.group);
    name_outputs(c, q, w);
    found.push_back(std::move(w));
  }
  if (found.empty()) {
    refuse({"weights", c.path.string(), "",
            q.only.empty() && !q.except_codes
                ? "weights of BF16, F16, F32 or codes"
                : "weights of BF16, F16, F32 or codes, as --only and --except "
                  "say",
            "none"});
  }
  return found;
}

void prove(const checkpoint& c, const requantize_request& q,
           const std::vector<requantized>& weights,
           const work_options& options) {
  work_state state;
  for (const auto& w : weights) {
    state.total += static_cast<double>(w.from->bytes);
  }
  for (const auto& w : weights) {
    std::vector<job> jobs;
    add_quantization(c, q, w, {}, options, jobs);
    run_jobs(jobs, options, state);
  }
  end_progress(options, state);
}

conversion requantization(const checkpoint& c, const pairs& p,
                          const requantize_request& q,
                          const std::vector<requantized>& weights,
                          const work_options& options) {
  const auto at_tensor =
      std::make_shared<std::vector<const requantized*>>(c.tensors.size());
  for (const auto& w : weights) {
    (*at_tensor)[static_cast<std::size_t>(w.from - c.tensors.data())] = &w;
  }
  const auto find = [&c, at_tensor](const tensor& t) {
    return (*at_tensor)[static_cast<std::size_t>(&t - c.tensors.data())];
  };
  const auto is_old_scale = [&c, &p, find](const tensor& t) {
    const auto at = p.scale_of[static_cast<std::size_t>(&t - c.tensors.data())];
    return at >= 0 &&
           find(*p.weights[static_cast<std::size_t>(at)].weight) != nullptr;
  };
  for (const auto& w : p.weights) {
    const bool fits = w.packed == packing::none && w.group == q.group;
    if (fits || find(*w.weight) != nullptr) continue;
    refuse({"weights", c.file_of(*w.weight), w.weight->name,
            "groups of " + zeroulp::name_of(q.group) +
                (q.only.empty() && !q.except_codes
                     ? " in what is not quantized again"
                     : " in what --only and --except leave") +
                ", as one config declares",
            zeroulp::name_of(w.group)});
  }
  conversion how;
  how.request = fmt::format(
      "requantize to {} group {} scale {} convention {} family {} scales {} "
      "order {} only '{}' except '{}'",
      name_of(q.to), name_of(q.group), name_of(q.scale), name_of(q.how.value),
      q.family->name, name_of(q.scales), static_cast<int>(q.read.order), q.only,
      q.except);
  how.outputs = [&q, find,
                 is_old_scale](const tensor& t) -> std::vector<entry> {
    if (is_old_scale(t)) return {};
    const auto* w = find(t);
    if (w == nullptr) return {t};
    return {{w->name, q.to, w->shape}, {w->scale_name, q.scales, w->grid}};
  };
  how.add_jobs = [&c, &q, &options, find](const tensor& t, const places& to,
                                          const shard_writer& out,
                                          std::vector<job>& jobs) {
    const auto* w = find(t);
    if (w == nullptr) return add_copy(c, t, to.front(), out, jobs);
    add_quantization(c, q, *w, {&out, to[0], to[1]}, options, jobs);
  };
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    const tensor& t = c.tensors[i];
    if (p.weight_at[i] < 0 && is_plain(t.type) && t.shape.size() >= 2 &&
        t.name.ends_with(".weight") && find(t) == nullptr) {
      kept.push_back(t.name.substr(0, t.name.rfind('.')));
    }
  }
  how.needs_config = true;  // without it, nobody knows the groups
  how.change_config = [&q, kept](json& config) {
    if (config.is_object())
      config["quantization_config"] = declaration(q, kept);
  };
  return how;
}

}  // namespace zeroulp::checkpoint
