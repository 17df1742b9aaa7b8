#include "tools/train/shape.hpp"

#include <cmath>

#include "src/base/fields.hpp"

namespace zeroulp::train {
namespace {

constexpr std::ptrdiff_t most = 1 << 20;

value_field<model_shape> size_field(const char* name,
                                    std::ptrdiff_t model_shape::*member,
                                    std::ptrdiff_t least = 1,
                                    std::ptrdiff_t largest = most) {
  return whole_field(name, member, least, largest);
}

}  // namespace

const std::vector<value_field<model_shape>>& shape_fields() {
  using m = model_shape;
  static const std::vector<value_field<model_shape>> all{
      size_field("width", &m::width),
      size_field("layers", &m::layers, 1, 256),
      size_field("dense", &m::dense, 0, 256),
      size_field("heads", &m::heads, 1, 1024),
      size_field("rank", &m::rank),
      size_field("dense_hidden", &m::dense_hidden),
      size_field("experts", &m::experts, 1, 1024),
      size_field("top", &m::top, 1, 1024),
      size_field("hidden", &m::hidden),
      size_field("shared", &m::shared, 1, 1024),
      size_field("length", &m::length),
      size_field("sequences", &m::sequences),
      size_field("mtp", &m::mtp, 0, 1)};
  return all;
}

std::string fields_json(const model_shape& s) {
  auto fields = shape_fields();
  // A shape without a module is what it was before there were any.
  if (s.mtp == 0) fields.pop_back();
  return fields_as_json(s, fields);
}

void check_shape(const model_shape& s) {
  for (const auto& f : shape_fields()) {
    model_shape same = s;
    set_field(same, shape_fields(), f.name, f.text(s));
  }
  const std::pair<const char*, std::ptrdiff_t> widths[] = {
      {"width", s.width},
      {"rank", s.rank},
      {"dense_hidden", s.dense_hidden},
      {"hidden", s.hidden}};
  for (const auto& [name, n] : widths) {
    if (n % 128 != 0) {
      throw input_error(
          fmt::format("{} is {}: use a multiple of 128", name, n));
    }
  }
  const auto need_at_most = [](const char* name, std::ptrdiff_t n,
                               const char* other, std::ptrdiff_t limit) {
    if (n <= limit) return;
    throw input_error(fmt::format(
        "{} is {}, more than {}, {}: use at most that", name, n, other, limit));
  };
  need_at_most("dense", s.dense, "layers", s.layers);
  need_at_most("top", s.top, "experts", s.experts);
}

model_shape shape_called(std::string_view name, const model_shape& s) {
  const std::string fields = fields_json(s);
  for (const model_shape& row : named_shapes) {
    if (fields_json(row) == fields) return row;
  }
  model_shape own = s;
  own.name = kept_name(std::string(name));
  return own;
}

model_shape parse_shape(std::string_view text) {
  const auto plus = std::min(text.find('+'), text.size());
  model_shape s = row_named(named_shapes, "size", text.substr(0, plus));
  if (plus == text.size()) return s;
  try {
    set_fields(s, shape_fields(), text.substr(plus));
    check_shape(s);
  } catch (const input_error& e) {
    throw input_error(fmt::format("size '{}': {}", text, e.what()));
  }
  return shape_called(text, s);
}

std::size_t parameter_list::add(const std::string& name, std::ptrdiff_t rows,
                                std::ptrdiff_t cols, std::ptrdiff_t zero_rows) {
  const bool norm = rows == 1;
  all_.push_back({name, rows, cols,
                  norm ? 0.0 : 1 / std::sqrt(static_cast<double>(cols)),
                  zero_rows});
  return all_.size() - 1;
}

parameter_list::parameter_list(const model_shape& s) {
  add("embedding", s.vocabulary, s.width);
  all_[embedding].deviation = 0.5;
  for (std::ptrdiff_t l = 0; l < s.all_layers(); ++l) {
    const bool module = l == s.layers;
    const std::string prefix =
        module ? "mtp." : "layer" + std::to_string(l) + ".";
    const auto put = [&](const std::string& name, std::ptrdiff_t rows,
                         std::ptrdiff_t cols, std::ptrdiff_t zero_rows = 0) {
      return add(prefix + name, rows, cols, zero_rows);
    };
    const auto swiglu = [&](const std::string& name, std::ptrdiff_t hidden) {
      const std::size_t up = put(name + ".up", 2 * hidden, s.width);
      put(name + ".down", s.width, hidden);
      return up;
    };
    if (module) {
      module_ = {put("norm_h", 1, s.width), put("norm_next", 1, s.width),
                 put("project", s.width, 2 * s.width)};
    }
    layer_parameters p{};
    p.norm1 = put("norm1", 1, s.width);
    p.first = put("qkv_a", s.first_rows(), s.width,
                  s.first_rows() - s.heads * s.depth() - s.rank - s.turned);
    p.latent_norm = put("kv_norm", 1, s.rank);
    p.second = put("kv_b", s.heads * (s.plain + s.value), s.rank);
    p.out = put("out", s.width, s.heads * s.value);
    p.norm2 = put("norm2", 1, s.width);
    if (s.is_dense(l)) {
      p.feed = swiglu("dense", s.dense_hidden);
    } else {
      p.router = put("router", s.experts, s.width);
      p.feed = swiglu("shared", s.shared * s.hidden);
      for (std::ptrdiff_t e = 0; e < s.experts; ++e) {
        swiglu("expert" + std::to_string(e), s.hidden);
      }
    }
    layers_.push_back(p);
  }
  add("last_norm", 1, s.width);
  add("head", s.vocabulary, s.width);
}

}  // namespace zeroulp::train
