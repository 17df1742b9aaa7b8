// The kernels of a training step as a table of the model's operators, and the
// checks on them.

#include "conformance/device/model/mirror.hpp"
#include "conformance/device/model/model.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::conformance::device {
namespace {

template <class... Mirrors>
void download(Mirrors&... all) {
  finish_kernel();
  (all.download(), ...);
}

void log_on_gpu(codes_in x, codes_out out) {
  const mirror from(x);
  mirror to(out);
  cuda::log(from.view(), to.view());
  download(to);
}

/// Elements more between rows: none, or one or two, which end the alignment.
std::ptrdiff_t more_of(std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return (rows + cols) % 5 < 3 ? 0 : (rows + cols) % 5 - 2;
}

void rms_norm_backward_on_gpu(const rms_norm_gradients& t) {
  const std::ptrdiff_t more = more_of(t.x.rows, t.x.cols);
  const mirror dy(t.dy, 0, more), x(t.x, 0, more), q(t.residual);
  const mirror w(t.w), rstd(t.rstd);
  mirror dx(t.dx);
  mirror dw(t.dw);
  const room<std::uint32_t> work(ceil_div(t.x.rows, token_range) * t.x.cols);
  cuda::rms_norm_backward({dy.view(), x.view(), w.view(), rstd.view(), q.view(),
                           dx.view(), dw.view()},
                          work.span());
  download(dx, dw);
}

void rope_on_gpu(const rope_rows& t) {
  const std::ptrdiff_t more = more_of(t.x.rows, t.x.cols);
  const mirror x(t.x);
  const mirror cosines(t.cosines), sines(t.sines, 0, more);
  mirror y(t.y, 0, more);
  const bool in_place = t.y.data == t.x.data;
  cuda::rope({t.pairs, t.backward, t.heads,
              in_place ? matrix_view<const std::uint16_t>(y.view()) : x.view(),
              cosines.view(), sines.view(), y.view()});
  download(y);
}

/// Widths of a head as the kernels have them: multiples of 8.
attention_shape padded(attention_shape s) {
  s.depth = ceil_div(s.depth, 8) * 8;
  s.value_depth = ceil_div(s.value_depth, 8) * 8;
  return s;
}

/// Room for one sequence or for all, by turns.
room<std::byte> room_of(const attention_shape& s, std::ptrdiff_t tokens) {
  const std::ptrdiff_t all = tokens / s.length;
  return room<std::byte>(static_cast<std::ptrdiff_t>(
      cuda::attention_work_bytes(s, all % 2 == 0 ? 1 : all)));
}

void attention_forward_on_gpu(const attention_shape& s,
                              const engine::attention_inputs& t,
                              matrix_view<std::uint16_t> o, codes_out largest,
                              codes_out inverse) {
  const mirror q(t.q, s.depth), k(t.k, s.depth), v(t.v, s.value_depth);
  mirror out(o, s.value_depth);
  mirror m(largest), r(inverse);
  const attention_shape by = padded(s);
  const auto work = room_of(by, t.q.rows);
  cuda::attention_forward(by, {q.view(), k.view(), v.view()}, out.view(),
                          m.view(), r.view(), work.span());
  download(out, m, r);
}

void attention_backward_on_gpu(const attention_shape& s,
                               const engine::attention_inputs& t,
                               const engine::attention_kept& kept,
                               matrix_view<const std::uint16_t> d_o,
                               const engine::attention_gradients_out& out) {
  const mirror q(t.q, s.depth), k(t.k, s.depth), v(t.v, s.value_depth);
  const mirror g(d_o, s.value_depth);
  const mirror o(kept.o, s.value_depth);
  const mirror m(kept.largest), r(kept.inverse);
  mirror dq(out.dq, s.depth), dk(out.dk, s.depth), dv(out.dv, s.value_depth);
  const attention_shape by = padded(s);
  const auto work = room_of(by, t.q.rows);
  cuda::attention_backward(by, {q.view(), k.view(), v.view()},
                           {o.view(), m.view(), r.view()}, g.view(),
                           {dq.view(), dk.view(), dv.view()}, work.span());
  download(dq, dk, dv);
}

void route_on_gpu(const router& r, const routing& t) {
  const mirror logits(t.logits), bias(t.bias);
  mirror scores(t.scores), weights(t.weights);
  mirror experts(t.experts);
  const room<std::uint32_t> work(t.logits.rows * (t.logits.cols + r.groups));
  cuda::route(r,
              {logits.view(),
               bias.view(),
               scores.view(),
               experts.view(),
               weights.view(),
               {work.span().data(), t.logits.rows, t.logits.cols + r.groups}});
  download(scores, weights, experts);
}

void route_backward_on_gpu(const router& r, const routing_gradients& t) {
  const mirror scores(t.scores), dweights(t.dweights);
  const mirror experts(t.experts);
  mirror dlogits(t.dlogits);
  cuda::route_backward(
      r, {scores.view(), experts.view(), dweights.view(), dlogits.view()});
  download(dlogits);
}

void update_bias_on_gpu(slots_in experts, std::uint32_t speed, codes_out bias) {
  const mirror slots(experts);
  mirror to(bias);
  cuda::update_bias(slots.view(), speed, to.view());
  download(to);
}

void make_plan_on_gpu(const expert_plan& p) {
  const mirror experts(p.experts);
  mirror rows(p.rows), slots(p.slots), ends(p.ends);
  const room<std::int32_t> work(
      cuda::plan_work(p.experts.rows * p.experts.cols, p.ends.rows - 1));
  cuda::make_plan(
      {experts.view(), p.align, rows.view(), slots.view(), ends.view()},
      work.span());
  download(rows, slots, ends);
}

void slot_backward_on_gpu(const slot_gradients& t) {
  const std::ptrdiff_t more = more_of(t.dy.rows, t.dy.cols);
  const mirror dy(t.dy), y(t.y, 0, more);
  const mirror slots(t.slots);
  const mirror weights(t.weights);
  mirror d_rows(t.d_rows, 0, more);
  mirror dweights(t.dweights);
  cuda::slot_backward({dy.view(), slots.view(), weights.view(), y.view(),
                       d_rows.view(), dweights.view()});
  download(d_rows, dweights);
}

void cross_entropy_on_gpu(const cross_entropy_rows& t) {
  const std::ptrdiff_t more = more_of(t.logits.rows, t.logits.cols);
  const mirror logits(t.logits, 0, more);
  const mirror targets(t.targets);
  mirror losses(t.losses);
  mirror dlogits(t.dlogits, 0, more);
  const room<std::uint32_t> work(t.logits.rows * t.logits.cols);
  cuda::cross_entropy({logits.view(),
                       targets.view(),
                       t.factor,
                       losses.view(),
                       dlogits.view(),
                       {work.span().data(), t.logits.rows, t.logits.cols}});
  download(losses, dlogits);
}

double download(const room<double>& sum) {
  finish_kernel();
  double x = 0;
  require(cudaMemcpy(&x, sum.span().data(), sizeof x, cudaMemcpyDeviceToHost));
  return x;
}

double sum_of_losses_on_gpu(codes_in losses) {
  const mirror from(losses);
  const room<double> work(ceil_div(losses.rows, loss_range)), sum(1);
  cuda::sum_of_losses(from.view(), work.span(), sum.span().data());
  return download(sum);
}

/// The words of a matrix on the host, row by row, on the device.
room<std::uint32_t> words_on_gpu(codes_in x) {
  std::vector<std::uint32_t> words;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) words.push_back(x(i, j));
  }
  room<std::uint32_t> to(x.rows * x.cols);
  require(cudaMemcpy(to.span().data(), words.data(), 4 * words.size(),
                     cudaMemcpyHostToDevice));
  return to;
}

double sum_of_squares_on_gpu(codes_in g) {
  const auto from = words_on_gpu(g);
  const room<double> work(ceil_div(g.rows * g.cols, norm_chunk)), sum(1);
  cuda::sum_of_squares(from.span(), work.span(), sum.span().data());
  return download(sum);
}

void add_shards_on_gpu(std::span<const codes_in> shards, codes_out out) {
  std::vector<room<std::uint32_t>> memory;
  std::vector<const std::uint32_t*> all;
  for (const codes_in& shard : shards) {
    memory.push_back(words_on_gpu(shard));
    all.push_back(memory.back().span().data());
  }
  const room<std::uint32_t> sums(out.rows * out.cols);
  cuda::add_shards(all, sums.span());
  finish_kernel();
  std::vector<std::uint32_t> words(sums.span().size());
  require(cudaMemcpy(words.data(), sums.span().data(), 4 * words.size(),
                     cudaMemcpyDeviceToHost));
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out(i, j) = words[static_cast<std::size_t>(i * out.cols + j)];
    }
  }
}

}  // namespace

model_functions gpu_model() {
  const model_functions f = engine_model();
  return {"gpu",
          log_on_gpu,
          rms_norm_backward_on_gpu,
          rope_on_gpu,
          f.rope_frequency,
          f.rope_table,
          attention_forward_on_gpu,
          attention_backward_on_gpu,
          route_on_gpu,
          route_backward_on_gpu,
          update_bias_on_gpu,
          make_plan_on_gpu,
          slot_backward_on_gpu,
          cross_entropy_on_gpu,
          sum_of_losses_on_gpu,
          add_shards_on_gpu,
          sum_of_squares_on_gpu};
}

}  // namespace zeroulp::conformance::device
