#include "tools/checkpoint/weights/identify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tools/checkpoint/weights/dequantize.hpp"
#include "tools/checkpoint/weights/hash.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

constexpr scale_kind scale_kinds[] = {scale_kind::float32, scale_kind::pow2,
                                      scale_kind::pow2_nearest,
                                      scale_kind::pow2_down, scale_kind::ocp};

std::ptrdiff_t index_of(count_t n) { return static_cast<std::ptrdiff_t>(n); }

/// A tile of both sides: numbers, and what was made of them.
struct evidence {
  std::vector<std::byte> numbers;
  std::vector<std::uint8_t> codes;
  tile_scales scales;
  tile at;
};

struct subject {
  const diff_side* from;
  const tensor* numbers;
  const diff_side* to;
  const quantized* q;
};

evidence read_evidence(const subject& s, const tile& t) {
  evidence e;
  e.at = t;
  const tile folded{0, t.outer * s.q->rows + t.i, t.j, t.m, t.n};
  read_elements(s.from->files, *s.numbers, folded, e.numbers);
  read_codes(s.to->files, *s.q, t, e.codes);
  e.scales = scales_of(s.to->files, *s.q, t);
  return e;
}

/// Scales as the checkpoint stores them.
std::uint32_t as_stored(std::uint32_t scale, const quantized& q) {
  const format f = scale_format(q.scale->type);
  if (f == fp32) return scale;
  const auto code = recode(fp32, scale, f, {}, ocp_nonsaturate);
  return static_cast<std::uint32_t>(recode(f, code, fp32, {}, ocp_nonsaturate));
}

/// A candidate, its rule, and the amax of a tensor with one scale.
struct attempt {
  candidate result;
  quantizer rule;
  std::uint32_t amax = 0;
};

bool has_one_scale(const quantized& q) {
  return q.group.rows == 0 && q.group.cols == 0;
}

engine::const_code_view view_of(const evidence& e, format from) {
  const auto n = index_of(e.at.n);
  return {e.numbers.data(), index_of(e.at.m), n, n, 1, storage_bytes(from)};
}

/// Adds what the rule does not give of a tile.
void count_wrong(const subject& s, const evidence& e, const attempt& a,
                 candidate& out) {
  std::vector<std::uint8_t> codes(e.codes.size());
  std::vector<std::uint32_t> scales(e.scales.words.size());
  const matrix_view<std::uint8_t> made(codes.data(), index_of(e.at.m),
                                       index_of(e.at.n));
  const matrix_view<std::uint32_t> made_scales(
      scales.data(), index_of(e.scales.rows), index_of(e.scales.cols));
  const auto x = view_of(e, a.rule.from);
  if (has_one_scale(*s.q)) {
    engine::quantize(a.rule, x, matrix_view<const std::uint32_t>(&a.amax, 1, 1),
                     made, made_scales);
  } else {
    engine::quantize(a.rule, x, made, made_scales);
  }
  for (std::size_t k = 0; k < codes.size(); ++k) {
    out.wrong_codes += codes[k] != e.codes[k] ? 1 : 0;
  }
  // One scale is that of the first tile.
  if (has_one_scale(*s.q) && (e.at.i != 0 || e.at.j != 0)) return;
  for (std::size_t k = 0; k < scales.size(); ++k) {
    out.wrong_scales += as_stored(scales[k], *s.q) != e.scales.words[k] ? 1 : 0;
  }
}

/// Tiles that hold whole groups.
matrices whole_groups(const quantized& q) {
  if (has_one_scale(q)) return matrices_of(q);
  return {q.outer, q.rows, q.cols, q.height(), q.width()};
}

using attempts = std::vector<attempt>;

/// The one with the fewest wrong scales and, among those, wrong codes.
candidate nearest_of(const attempts& all) {
  const auto wrong = [](const attempt& a) {
    return std::pair(a.result.wrong_scales, a.result.wrong_codes);
  };
  return std::min_element(all.begin(), all.end(),
                          [&](const attempt& a, const attempt& b) {
                            return wrong(a) < wrong(b);
                          })
      ->result;
}

attempts all_attempts(const subject& s) {
  attempts all;
  const format from = row_of(s.numbers->type).holds.value();
  for (const auto& named : named_conventions) {
    for (const scale_kind kind : scale_kinds) {
      all.push_back({{named.name, kind, 0, 0},
                     {from, s.q->code, named.value, kind, s.q->group}});
    }
  }
  return all;
}

/// The amax of the tensor by the rule of each attempt: a pass of its own.
void find_amaxes(const subject& s, const std::vector<tile>& tiles,
                 const work_options& options, attempts& all) {
  std::vector<job> jobs;
  std::mutex guard;
  for (const auto& t : tiles) {
    jobs.push_back({0, [&, t] {
                      const evidence e = read_evidence(s, t);
                      for (auto& a : all) {
                        std::uint32_t amax = 0;
                        engine::group_amaxes(
                            a.rule, view_of(e, a.rule.from),
                            matrix_view<std::uint32_t>(&amax, 1, 1));
                        const std::lock_guard lock(guard);
                        a.amax = std::max(a.amax, amax);
                      }
                    }});
  }
  work_state state;
  run_jobs(jobs, {options.threads, {}}, state);
}

/// Counts all tiles but the first for what is left.
void try_the_rest(const subject& s, const std::vector<tile>& tiles,
                  const work_options& options, work_state& state,
                  attempts& left) {
  std::vector<job> jobs;
  std::mutex guard;
  for (std::size_t k = 1; k < tiles.size(); ++k) {
    const tile& t = tiles[k];
    jobs.push_back({static_cast<double>(t.count()), [&, t] {
                      const evidence e = read_evidence(s, t);
                      for (auto& a : left) {
                        candidate part;
                        count_wrong(s, e, a, part);
                        const std::lock_guard lock(guard);
                        a.result.wrong_codes += part.wrong_codes;
                        a.result.wrong_scales += part.wrong_scales;
                      }
                    }});
  }
  run_jobs(jobs, options, state);
}

void identify_one(const subject& s, const work_options& options,
                  work_state& state, identified& out) {
  std::vector<tile> tiles;
  for_each_tile(whole_groups(*s.q), [&](const tile& t) { tiles.push_back(t); });
  out.codes = s.q->count();
  out.scales = s.q->outer * s.q->grid_rows() * s.q->grid_cols();
  attempts all = all_attempts(s);
  if (has_one_scale(*s.q)) find_amaxes(s, tiles, options, all);
  // The first tile leaves few.
  const evidence first = read_evidence(s, tiles.front());
  std::vector<job> jobs;
  for (auto& a : all) {
    jobs.push_back(
        {0, [&s, &first, &a] { count_wrong(s, first, a, a.result); }});
  }
  run_jobs(jobs, options, state);
  out.nearest = nearest_of(all);
  out.looked_at = first.at.count();
  std::erase_if(all, [](const attempt& a) { return !a.result.is_exact(); });
  if (all.empty()) return;
  try_the_rest(s, tiles, options, state, all);
  out.nearest = nearest_of(all);
  out.looked_at = out.codes;
  for (const auto& a : all) {
    if (a.result.is_exact()) out.exact.push_back(a.result);
  }
}

/// Why a pair cannot be told, or nothing.
std::string obstacle(const subject& s) {
  const auto type = s.numbers->type;
  if (type != element::bf16 && type != element::f16 && type != element::f32) {
    return "its numbers are " + name_of(type);
  }
  if (s.numbers->shape != s.q->shape) {
    return fmt::format("its shape is {}, that of the codes {}",
                       text_of(s.numbers->shape), text_of(s.q->shape));
  }
  if (s.q->scale == nullptr) return "its codes have no scale";
  if (s.q->second != nullptr) return "it has two scales";
  constexpr count_t most = count_t{1} << 23;
  const bool large =
      !has_one_scale(*s.q) && s.q->height() * s.q->width() > most;
  return large ? fmt::format("a group has more than {} numbers", most) : "";
}

}  // namespace

std::vector<identified> identify(const diff_side& numbers,
                                 const diff_side& codes,
                                 const std::string& only,
                                 const work_options& options) {
  const auto wanted = matcher(only, "--only");
  std::vector<identified> all;
  work_state state;
  std::vector<std::pair<std::size_t, subject>> subjects;
  for (const auto& q : codes.scales.weights) {
    const auto name = value_name(*q.weight, &q);
    if (!wanted(name)) continue;
    identified i;
    i.name = name;
    const tensor* x = numbers.files.find(name);
    const subject s{&numbers, x, &codes, &q};
    i.why_not = x == nullptr     ? "the other checkpoint does not have it"
                : q.count() == 0 ? "it has no elements"
                                 : obstacle(s);
    if (i.why_not.empty()) {
      subjects.push_back({all.size(), s});
      state.total += static_cast<double>(q.count());
    }
    all.push_back(std::move(i));
  }
  if (all.empty()) {
    refuse({"weights", codes.files.path.string(), "", "quantized weights",
            "none, as --only says"});
  }
  for (auto& [place, s] : subjects) {
    identify_one(s, options, state, all[place]);
  }
  end_progress(options, state);
  return all;
}

}  // namespace zeroulp::checkpoint
