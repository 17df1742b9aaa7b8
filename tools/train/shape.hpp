// Defines `model_shape`: the sizes of a DeepSeek-V2-Lite-like model, as data,
// its fields as text, and its parameters in the order of the state.
//
// A layer is RMSNorm, multi-head latent attention (MLA), RMSNorm, and a dense
// SwiGLU or routed SwiGLU experts with shared ones. SPEC N19 to N24. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_SHAPE_HPP_
#define ZEROULP_TOOLS_TRAIN_SHAPE_HPP_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/names.hpp"

namespace zeroulp::train {

/// Widths are multiples of 128.
struct model_shape {
  const char* name;
  std::ptrdiff_t width;
  std::ptrdiff_t layers;
  std::ptrdiff_t dense;  ///< of the layers, the first so many
  std::ptrdiff_t heads;
  std::ptrdiff_t rank;  ///< of the latent keys and values
  std::ptrdiff_t dense_hidden;
  std::ptrdiff_t experts;
  std::ptrdiff_t top;
  std::ptrdiff_t hidden;     ///< of an expert
  std::ptrdiff_t shared;     ///< experts in one that every token visits
  std::ptrdiff_t length;     ///< tokens of a sequence
  std::ptrdiff_t sequences;  ///< of a step
  std::ptrdiff_t vocabulary = 256;
  std::ptrdiff_t plain = 128;  ///< of a head's q and k: without position
  std::ptrdiff_t turned = 64;  ///< with rope
  std::ptrdiff_t value = 128;  ///< of a head's v
  std::ptrdiff_t mtp = 0;      ///< modules of multi-token prediction: 0 or 1

  std::ptrdiff_t depth() const { return plain + turned; }
  /// Rows of the first projection: q of every head, the latent, the key that
  /// all heads share, zeros up to a multiple of 128.
  std::ptrdiff_t first_rows() const {
    const std::ptrdiff_t used = heads * depth() + rank + turned;
    return (used + 127) / 128 * 128;
  }
  std::ptrdiff_t tokens() const { return sequences * length; }
  bool is_dense(std::ptrdiff_t layer) const { return layer < dense; }
  /// With that of a module, which is the last one.
  std::ptrdiff_t all_layers() const { return layers + mtp; }
};

inline constexpr model_shape named_shapes[] = {
    {.name = "tiny",
     .width = 128,
     .layers = 2,
     .dense = 1,
     .heads = 2,
     .rank = 128,
     .dense_hidden = 128,
     .experts = 4,
     .top = 2,
     .hidden = 128,
     .shared = 1,
     .length = 96,
     .sequences = 2},
    {.name = "T",
     .width = 256,
     .layers = 2,
     .dense = 1,
     .heads = 2,
     .rank = 128,
     .dense_hidden = 512,
     .experts = 4,
     .top = 2,
     .hidden = 128,
     .shared = 1,
     .length = 128,
     .sequences = 8},
    {.name = "cliff",
     .width = 512,
     .layers = 4,
     .dense = 1,
     .heads = 4,
     .rank = 128,
     .dense_hidden = 1536,
     .experts = 8,
     .top = 2,
     .hidden = 384,
     .shared = 1,
     .length = 512,
     .sequences = 16},
    {.name = "bridge",
     .width = 2048,
     .layers = 2,
     .dense = 1,
     .heads = 16,
     .rank = 512,
     .dense_hidden = 8192,
     .experts = 16,
     .top = 4,
     .hidden = 1408,
     .shared = 2,
     .length = 512,
     .sequences = 4},
    {.name = "lite4",
     .width = 2048,
     .layers = 4,
     .dense = 1,
     .heads = 16,
     .rank = 512,
     .dense_hidden = 8192,
     .experts = 16,
     .top = 4,
     .hidden = 1408,
     .shared = 2,
     .length = 1024,
     .sequences = 64},
};

/// The sizes of a model and of a step but for its name and for those that
/// SPEC N19 fixes: heads and vocabulary.
const std::vector<value_field<model_shape>>& shape_fields();
/// A named shape, or NAME+FIELD:VALUE. Throws input_error, also as check_shape
/// does.
model_shape parse_shape(std::string_view text);
/// The named shape that has the fields of `s`, or `s` under this name.
model_shape shape_called(std::string_view name, const model_shape& s);
/// Throws input_error that names the field unless a step can have these sizes.
void check_shape(const model_shape& s);
/// The fields as a JSON object without blanks: equal for equal shapes alone.
std::string fields_json(const model_shape& s);

/// A parameter: FP32 master weights, rows x cols.
struct parameter {
  std::string name;
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
  double deviation;              ///< of the initial weights; 0: ones
  std::ptrdiff_t zero_rows = 0;  ///< the last so many stay zero
  bool is_norm() const { return deviation == 0; }
};

/// Where a layer's parameters are among all.
struct layer_parameters {
  std::size_t norm1, first, latent_norm, second, out, norm2;
  std::size_t router;  ///< of a layer with experts
  /// Up and down, one after the other: of the dense SwiGLU or the shared
  /// expert, then of the routed experts.
  std::size_t feed;
  std::size_t up(std::ptrdiff_t e) const {
    return feed + 2 * static_cast<std::size_t>(e);
  }
  std::size_t down(std::ptrdiff_t e) const { return up(e) + 1; }
};

/// Where a module of multi-token prediction has its own parameters, but for its
/// layer's: both norms, and the projection.
struct module_parameters {
  std::size_t norm_h, norm_next, project;
};

/// The parameters of a shape, in order: embedding, layers, a module's, last
/// norm, head.
class parameter_list {
 public:
  explicit parameter_list(const model_shape& s);

  const std::vector<parameter>& all() const { return all_; }
  const layer_parameters& layer(std::ptrdiff_t l) const {
    return layers_[static_cast<std::size_t>(l)];
  }
  const module_parameters& module() const { return module_; }
  static constexpr std::size_t embedding = 0;
  std::size_t last_norm() const { return all_.size() - 2; }
  std::size_t head() const { return all_.size() - 1; }

 private:
  std::size_t add(const std::string& name, std::ptrdiff_t rows,
                  std::ptrdiff_t cols, std::ptrdiff_t zero_rows = 0);

  std::vector<parameter> all_;
  std::vector<layer_parameters> layers_;
  module_parameters module_{};
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_SHAPE_HPP_
