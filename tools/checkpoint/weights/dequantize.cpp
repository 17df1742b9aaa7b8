#include "tools/checkpoint/weights/dequantize.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <regex>
#include <unordered_set>

#include "tools/checkpoint/weights/hash.hpp"

namespace zeroulp::checkpoint {
namespace {

/// What becomes of each tensor: a weight, one that goes with its weight, or
/// what stays as it is.
struct fates {
  std::vector<const quantized*> weight;  ///< null: none, or not asked for
  std::vector<bool> dropped;
  bool all = true;                   ///< no weight stays quantized
  std::vector<std::string> modules;  ///< of weights that become numbers
};

fates fates_of(const checkpoint& c, const pairs& p,
               const dequantize_request& q) {
  fates f;
  f.weight.assign(c.tensors.size(), nullptr);
  f.dropped.assign(c.tensors.size(), false);
  const auto wanted = matcher(q.only, "--only");
  std::unordered_set<std::string> modules;
  const auto place = [&](const tensor* t) {
    return static_cast<std::size_t>(t - c.tensors.data());
  };
  for (const auto& w : p.weights) {
    if (!wanted(w.weight->name)) {
      f.all = false;
      continue;
    }
    f.weight[place(w.weight)] = &w;
    if (w.scale != nullptr) f.dropped[place(w.scale)] = true;
    if (w.second != nullptr) f.dropped[place(w.second)] = true;
    f.modules.push_back(w.weight->name.substr(0, w.weight->name.rfind('.')));
    modules.insert(f.modules.back());
  }
  for (const auto& t : c.tensors) {
    // Scales of activations go with the codes that they were for.
    const auto dot = t.name.rfind('.');
    if (dot == t.name.npos || !is_companion(t.name)) continue;
    const bool of_input = t.name.find("input", dot) != t.name.npos ||
                          t.name.ends_with("comfy_quant");
    if (of_input && modules.contains(t.name.substr(0, dot))) {
      f.dropped[place(&t)] = true;
    }
  }
  return f;
}

std::uint64_t nans_in(const std::byte* data, std::uint64_t count,
                      element type) {
  const format f = row_of(type).holds.value();
  const auto bytes = static_cast<std::size_t>(bits_of(type) / 8);
  const auto magnitude = f.magnitude_mask();
  const std::uint64_t infinity = recode(fp32, fp32_infinity, f, {}, cuda_nosat);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, data + i * bytes, bytes);
    found += (word & magnitude) > infinity ? 1 : 0;
  }
  return found;
}

void add_weight(const checkpoint& c, const quantized& w,
                const dequantize_request& q, std::size_t place,
                const shard_writer& out, nan_count& nans,
                std::vector<job>& jobs) {
  const auto bytes = static_cast<std::uint64_t>(bits_of(q.to) / 8);
  const double share =
      static_cast<double>(w.weight->bytes) /
      static_cast<double>(std::max<std::uint64_t>(w.count(), 1));
  for_each_tile(matrices_of(w), [&](const tile& t) {
    jobs.push_back(
        {share * static_cast<double>(t.count()),
         [&c, &w, &q, &out, &nans, place, bytes, t] {
           // Kept from tile to tile: new memory would be new pages.
           thread_local std::vector<std::byte> buffer;
           if (buffer.size() < t.count() * bytes) {
             buffer.resize(t.count() * bytes);
           }
           dequantize_tile(c, w, t, row_of(q.to).holds.value(), q.how,
                           buffer.data());
           if (const auto n = nans_in(buffer.data(), t.count(), q.to); n > 0) {
             const std::lock_guard lock(nans.guard);
             nans.numbers += n;
             if (nans.first.empty()) nans.first = w.weight->name;
           }
           write_tile(out, place, t, t.outer * w.rows + t.i, w.cols, bytes,
                      buffer.data());
         }});
  });
}

void drop_declaration(json& config) {
  for (json* place :
       {&config, config.is_object() && config.contains("text_config")
                     ? &config["text_config"]
                     : &config}) {
    if (!place->is_object()) continue;
    place->erase("quantization_config");
    place->erase("expert_dtype");
  }
}

/// Declares the modules that have numbers now.
void declare_kept(json& config, const std::vector<std::string>& modules) {
  if (!config.is_object() || !config.contains("quantization_config")) return;
  json& q = config["quantization_config"];
  if (!q.is_object()) return;
  const char* name = q.contains("ignored_layers") ? "ignored_layers"
                     : q.contains("ignore")       ? "ignore"
                                                  : "modules_to_not_convert";
  json& list = q[name];
  if (!list.is_array()) list = json::array();
  for (const auto& m : modules) list.push_back(m);
}

}  // namespace

std::function<bool(const std::string&)> matcher(const std::string& only,
                                                const char* option) {
  if (only.empty()) return [](const std::string&) { return true; };
  try {
    return [re = std::regex(only)](const std::string& name) {
      return std::regex_search(name, re);
    };
  } catch (const std::regex_error& e) {
    throw input_error(fmt::format("{} '{}': {}: give a regular expression",
                                  option, only, e.what()));
  }
}

conversion dequantization(const checkpoint& c, const pairs& p,
                          const dequantize_request& q, nan_count& nans) {
  const auto f = std::make_shared<fates>(fates_of(c, p, q));
  if (f->modules.empty()) {
    refuse({"weights", c.path.string(), "", "quantized weights",
            q.only.empty() ? "none" : "none, as --only says"});
  }
  const auto place_of = [&c](const tensor& t) {
    return static_cast<std::size_t>(&t - c.tensors.data());
  };
  conversion how;
  how.request = fmt::format(
      "dequantize to {}{}{} only '{}'", name_of(q.to),
      q.how.via_fp32 ? " via fp32" : "",
      q.how.order == product_order::codes ? " codes first" : "", q.only);
  how.outputs = [&q, f, place_of](const tensor& t) -> std::vector<entry> {
    const auto place = place_of(t);
    if (f->dropped[place]) return {};
    entry e = t;
    if (const auto* w = f->weight[place]) {
      e.name = value_name(t, w);
      e.type = q.to;
      e.shape = w->shape;
    }
    return {e};
  };
  how.add_jobs = [&c, &q, &nans, f, place_of](const tensor& t, const places& to,
                                              const shard_writer& out,
                                              std::vector<job>& jobs) {
    const auto* w = f->weight[place_of(t)];
    if (w == nullptr) return add_copy(c, t, to.front(), out, jobs);
    add_weight(c, *w, q, to.front(), out, nans, jobs);
  };
  how.change_config = [f](json& config) {
    f->all ? drop_declaration(config) : declare_kept(config, f->modules);
  };
  return how;
}

}  // namespace zeroulp::checkpoint
