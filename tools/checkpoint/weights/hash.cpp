#include "tools/checkpoint/weights/hash.hpp"

#include <algorithm>

#include "src/base/sha256.hpp"

namespace zeroulp::checkpoint {
namespace {

std::string_view as_view(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
}

void hash_bytes(const checkpoint& c, const tensor& t, sha256& h) {
  for_each_piece(t.bytes, [&](std::uint64_t from, std::uint64_t bytes) {
    h.add(c.map(t, from, bytes).text());
  });
}

std::string values_of(const checkpoint& c, const tensor& t,
                      const quantized* q) {
  sha256 h;
  h.add("zeroulp values 1\n" + text_of(q ? q->shape : t.shape) + "\n");
  if (q == nullptr && !is_numeric(t.type)) {
    h.add(name_of(t.type) + "\n");
    hash_bytes(c, t, h);
    return h.hex();
  }
  std::vector<std::uint32_t> words;
  // Whole rows: the order of the numbers is that of the tiles.
  auto m = q ? matrices_of(*q) : matrices_of(t);
  const auto add = [&](const tile& part) {
    read_fp32(c, t, q, part, {}, words);
    for (auto& w : words) {
      if ((w & 0x7fffffff) > fp32_infinity) w = fp32_nan;
    }
    h.add(as_view(words));
  };
  for_each_tile(m, [&](const tile& part) {
    if (part.n == m.cols) return add(part);
    if (part.j != 0) return;
    // A strip of groups that is wider than a tile: row after row.
    for (std::uint64_t i = 0; i < part.m; ++i) {
      for (std::uint64_t j = 0; j < m.cols; j += part.n) {
        add({part.outer, part.i + i, j, 1, std::min(part.n, m.cols - j)});
      }
    }
  });
  return h.hex();
}

}  // namespace

std::string value_name(const tensor& t, const quantized* q) {
  if (q == nullptr || q->family == nullptr) return t.name;
  std::string name = t.name;
  for (const std::string_view ending : {"_packed", "_blocks"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

std::vector<tensor_hash> hash_tensors(const checkpoint& c, const pairs& p,
                                      const work_options& options) {
  std::vector<tensor_hash> out(c.tensors.size());
  std::vector<job> jobs;
  work_state state;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto place = c.by_name[k];
    const tensor& t = c.tensors[place];
    const auto w = p.weight_at[place];
    const quantized* q =
        w >= 0 ? &p.weights[static_cast<std::size_t>(w)] : nullptr;
    const bool is_scale = p.scale_of[place] >= 0;
    out[k].of = &t;
    state.total += static_cast<double>(t.bytes);
    jobs.push_back(
        {static_cast<double>(t.bytes), [&c, &t, q, is_scale, h = &out[k]] {
           sha256 bytes;
           hash_bytes(c, t, bytes);
           h->bytes = bytes.hex();
           if (!is_scale) h->values = values_of(c, t, q);
         }});
  }
  run_jobs(jobs, options, state);
  end_progress(options, state);
  return out;
}

std::string total_of(const checkpoint& c, const pairs& p,
                     const std::vector<tensor_hash>& hashes, bool values) {
  std::vector<std::string> lines;
  for (const auto& h : hashes) {
    if (values && h.values.empty()) continue;
    const auto place = static_cast<std::size_t>(h.of - c.tensors.data());
    const auto w = p.weight_at[place];
    const quantized* q =
        w >= 0 ? &p.weights[static_cast<std::size_t>(w)] : nullptr;
    lines.push_back((values ? value_name(*h.of, q) + " " + h.values
                            : h.of->name + " " + h.bytes) +
                    "\n");
  }
  std::sort(lines.begin(), lines.end());
  sha256 all;
  for (const auto& line : lines) all.add(line);
  return all.hex();
}

}  // namespace zeroulp::checkpoint
