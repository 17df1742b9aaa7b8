#include "tools/zeroulp/bench/gpu/attention/sets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/model/attention.hpp"
#include "tools/zeroulp/bench/gpu/views.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::program {
namespace {

/// Room for sequences at once, as a training step has it.
std::size_t room_of(const attention_row& row) {
  const std::size_t one = row.composed
                              ? cuda::composed_attention_work_bytes(row.is, 1)
                              : cuda::attention_work_bytes(row.is, 1);
  const std::size_t most =
      std::max<std::size_t>((std::size_t{2} << 30) / one, 1);
  return one * std::min(static_cast<std::size_t>(row.sequences), most);
}

/// Columns of one head.
template <class T>
matrix_view<T> head_of(const matrix_view<T>& x, std::ptrdiff_t head,
                       std::ptrdiff_t heads) {
  const std::ptrdiff_t width = x.cols / heads;
  return x.block(0, head * width, x.rows, width);
}

template <class T>
void hold_head(const std::string& what, const matrix_view<T>& got,
               const dense<T>& want) {
  for (std::ptrdiff_t i = 0; i < got.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < got.cols; ++j) {
      const T right = want.view()(i, j);
      if (got(i, j) == right) continue;
      throw bench_mismatch(fmt::format("{} {}: {:x}, engine {:x}", what,
                                       place(i, j), got(i, j), right));
    }
  }
}

}  // namespace

std::vector<gpu_operand> attention_sets::operands_of(const attention_row& row) {
  const auto& s = row.is;
  const std::ptrdiff_t tokens = row.sequences * s.length;
  const shape keys{tokens, s.heads * s.depth};
  const shape values{tokens, s.heads * s.value_depth};
  const shape sums{tokens, s.heads};
  constexpr auto read = gpu_use::read, write = gpu_use::write;
  std::vector<gpu_operand> all(count_of_operands);
  all[q] = {"q", read, bf16, keys};
  all[k] = {"k", read, bf16, keys};
  all[v] = {"v", read, bf16, values};
  all[d_o] = {"dO", read, bf16, values};
  all[o] = {"O", write, bf16, values};
  all[largest] = {"largest", write, fp32, sums};
  all[inverse] = {"inverse", write, fp32, sums};
  all[kept] = {"O in FP32", write, fp32, values};
  all[dq] = {"dQ", write, bf16, keys};
  all[dk] = {"dK", write, bf16, keys};
  all[dv] = {"dV", write, bf16, values};
  return all;
}

attention_sets::attention_sets(gpu_lab& lab, const attention_row& row)
    : lab_(lab),
      row_(row),
      operands_(operands_of(row)),
      layout_(operands_),
      work_bytes_(room_of(row)),
      work_(work_bytes_) {
  const std::size_t used = operands_[q].bytes() + operands_[k].bytes() +
                           operands_[v].bytes() + operands_[o].bytes();
  sets_ = lab.maker.make(operands_, layout_, 2 * lab.l2_bytes / used + 2,
                         lab.stream);
  for (std::size_t set = 0; row.backward && set < count(); ++set) {
    forward(set);
    const auto at = on_device(set);
    const auto size = static_cast<std::size_t>(operands_[o].is.count());
    cuda::widen({halves(at[o]).data, size}, {words(at[kept]).data, size},
                lab.stream);
  }
}

attention_sets::matrices attention_sets::on_device(std::size_t set) const {
  matrices all;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    all.push_back(view_of(operands_[i], sets_[set].data() + layout_.at[i]));
  }
  return all;
}

void attention_sets::forward(std::size_t set) const {
  const auto at = on_device(set);
  const auto run = row_.composed ? cuda::composed_attention_forward
                                 : cuda::attention_forward;
  run(row_.is, {halves(at[q]), halves(at[k]), halves(at[v])}, halves(at[o]),
      words(at[largest]), words(at[inverse]),
      {reinterpret_cast<std::byte*>(work_.data()), work_bytes_}, lab_.stream);
}

void attention_sets::backward(std::size_t set) const {
  const auto at = on_device(set);
  const auto run = row_.composed ? cuda::composed_attention_backward
                                 : cuda::attention_backward;
  run(row_.is, {halves(at[q]), halves(at[k]), halves(at[v])},
      {words(at[kept]), words(at[largest]), words(at[inverse])},
      halves(at[d_o]), {halves(at[dq]), halves(at[dk]), halves(at[dv])},
      {reinterpret_cast<std::byte*>(work_.data()), work_bytes_}, lab_.stream);
}

void attention_sets::launch(std::size_t set) const {
  row_.backward ? backward(set) : forward(set);
}

void attention_sets::hold(std::ptrdiff_t sequence, std::ptrdiff_t head) const {
  const auto& s = row_.is;
  std::vector<std::vector<unsigned char>> memory;
  matrices at;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    gpu_operand part = operands_[i];
    part.is.m = s.length;
    memory.push_back(
        lab_.download(sets_[0].data() + layout_.at[i] +
                          static_cast<std::size_t>(sequence) * part.bytes(),
                      part.bytes()));
    at.push_back(view_of(part, memory.back().data()));
  }
  const auto half = [&](operand i) {
    return head_of(halves(at[i]), head, s.heads);
  };
  const auto word = [&](operand i) {
    return head_of(words(at[i]), head, s.heads);
  };
  const std::string of =
      fmt::format(" of sequence {}, head {}", sequence, head);
  const attention_shape one{s.length, 1, s.depth, s.value_depth, s.scale};
  const engine::attention_inputs inputs{half(q), half(k), half(v)};
  const shape keys{s.length, s.depth}, values{s.length, s.value_depth};
  if (!row_.backward) {
    dense<std::uint16_t> right_o(values);
    dense<std::uint32_t> right_largest({s.length, 1});
    dense<std::uint32_t> right_inverse({s.length, 1});
    engine::attention_forward(one, inputs, right_o.view(), right_largest.view(),
                              right_inverse.view());
    hold_head("O" + of, half(o), right_o);
    hold_head("largest" + of, word(largest), right_largest);
    hold_head("inverse" + of, word(inverse), right_inverse);
    return;
  }
  dense<std::uint16_t> right_q(keys), right_k(keys), right_v(values);
  engine::attention_backward(
      one, inputs, {word(kept), word(largest), word(inverse)}, half(d_o),
      {right_q.view(), right_k.view(), right_v.view()});
  hold_head("dQ" + of, half(dq), right_q);
  hold_head("dK" + of, half(dk), right_k);
  hold_head("dV" + of, half(dv), right_v);
}

void attention_sets::hold_equal() const {
  const device_memory right(layout_.written());
  require_cuda(cudaMemcpyAsync(
      right.data(), sets_[0].data() + layout_.written_from, layout_.written(),
      cudaMemcpyDeviceToDevice, lab_.stream));
  lab_.hold_equal(right, layout_.written_from, layout_.written(), sets_);
}

}  // namespace zeroulp::program
