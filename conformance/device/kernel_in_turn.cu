// Kernels right after one another, each reading what that before it writes, one
// at least of every unit but the GEMM's (kernel_gemm.cu): on the GPU they
// overlap, so each must wait. What they compute where each is awaited before
// the next is asked for they must compute again without, and from a graph.

#include "conformance/device/same_bits.hpp"
#include "zeroulp/core/training.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr std::ptrdiff_t tile = 128;

/// A dense matrix on the device, and its codes' scales if it has any.
struct memory {
  std::ptrdiff_t rows, cols, bytes;
  device_buffer<unsigned char> data;
  device_buffer<std::uint32_t> scales;

  memory(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t element_bytes)
      : rows(m),
        cols(n),
        bytes(element_bytes),
        data(static_cast<std::size_t>(m * n * element_bytes)),
        scales(scale_count()) {}

  std::size_t size() const {
    return static_cast<std::size_t>(rows * cols * bytes);
  }
  /// Enough for groups of 1x128; row by row.
  std::size_t scale_count() const {
    return static_cast<std::size_t>(rows * ceil_div(cols, tile));
  }
  cuda::matrix view() const { return {data.data(), rows, cols, cols}; }
  cuda::scales scale_view() const {
    return {scales.data(), ceil_div(cols, tile)};
  }
  cuda::quantized quantized() const { return {view(), scale_view()}; }
  cuda::const_quantized input() const { return {view(), scale_view()}; }

  void spoil() const {
    require(cudaMemset(data.data(), 0xff, size()));
    require(cudaMemset(scales.data(), 0xff, 4 * scale_count()));
  }
  void append_to(std::vector<unsigned char>& all) const {
    std::vector<unsigned char> here(size());
    data.copy_to(here.data(), here.size());
    all.insert(all.end(), here.begin(), here.end());
    std::vector<std::uint32_t> words(scale_count());
    scales.copy_to(words.data(), words.size());
    const auto* const first = reinterpret_cast<unsigned char*>(words.data());
    all.insert(all.end(), first, first + 4 * words.size());
  }
};

/// Matrices, and the kernels from each to the next.
struct chain {
  static constexpr std::ptrdiff_t m = 256, n = 1024;
  static constexpr group_shape row{1, tile}, block{tile, tile};
  static constexpr quantizer rows{bf16, e4m3, zeroulp_convention,
                                  scale_kind::float32, row};
  static constexpr quantizer powers{bf16, e4m3, zeroulp_convention,
                                    scale_kind::pow2, row};
  static constexpr quantizer blocks{bf16, e4m3, zeroulp_convention,
                                    scale_kind::float32, block};
  static constexpr quantizer whole{
      bf16, e4m3, zeroulp_convention, scale_kind::float32, {0, 0}};
  static constexpr quantizer twelve{bf16, e5m6, zeroulp_convention,
                                    scale_kind::pow2, row};

  // What is given.
  memory x{m, n, 2}, w{1, n, 2}, slots{m, 2, 4}, numbers{m, 1, 4};
  // What is updated.
  memory moment{m, n, 2}, second{m, n, 2}, weights{m, n, 4};
  // What is computed.
  memory y{m, n, 2}, y_codes{m, n, 1}, z{m, n, 2}, both{m, n, 1},
      turned{n, m, 1}, retiled{n, m, 1}, zt{n, m, 2}, blocked{n, m, 1},
      blocked_t{m, n, 1}, back{m, n, 1}, again{m, n, 2}, h{m, n, 2},
      h_codes{m, n, 1}, g_cache{m, n, 1}, u_cache{m, n, 1}, dg{m, n, 2},
      du{m, n, 2}, sent{m, n, 1}, received{m, n, 2}, sums{m, n, 2},
      normal{m, n, 2}, peak{1, 1, 4}, amax{m, n, 1}, gradient{m, n, 2},
      copy{m, n, 2}, wide{m, n, 2}, packed{m, n / 2 * 3, 1}, unpacked{m, n, 2},
      narrow{n, m, 1};

  std::vector<const memory*> computed() const {
    return {&y,        &y_codes, &z,         &both,     &turned, &retiled,
            &zt,       &blocked, &blocked_t, &back,     &again,  &h,
            &h_codes,  &g_cache, &u_cache,   &dg,       &du,     &sent,
            &received, &sums,    &normal,    &peak,     &amax,   &gradient,
            &copy,     &wide,    &packed,    &unpacked, &narrow};
  }

  explicit chain(std::uint64_t seed) {
    counter_rng rng(seed, 31);
    const auto fill = [&](const memory& to, auto word) {
      std::vector<decltype(word())> all(to.size() / sizeof(word()));
      for (auto& value : all) value = word();
      require(cudaMemcpy(to.data.data(), all.data(), to.size(),
                         cudaMemcpyHostToDevice));
    };
    const auto number = [&] {
      return static_cast<std::uint16_t>((rng.next32() & 0x807f) |
                                        rng.between(121, 129) << 7);
    };
    fill(x, number);
    fill(w, number);
    const auto any_row = [&] {
      return static_cast<std::int32_t>(rng.below(m));
    };
    fill(slots, any_row);
    fill(numbers, any_row);
  }

  void spoil() const {
    for (const memory* to : computed()) to->spoil();
    for (const memory* to : {&moment, &second, &weights}) {
      require(cudaMemset(to->data.data(), 0, to->size()));
    }
    require(cudaDeviceSynchronize());
  }

  template <class Next>
  void run(cudaStream_t stream, Next next) const {
    const auto indices = [](const memory& of) {
      return cuda::row_numbers{
          reinterpret_cast<const std::int32_t*>(of.data.data()), of.rows,
          of.cols, of.cols};
    };
    const swiglu_layer layer{rows, rows};
    cuda::rms_norm({bf16, bf16, 0x358637bd, rows}, x.view(), w.view(), y.view(),
                   {}, {}, stream);
    next();
    cuda::quantize(rows, y.view(), y_codes.quantized(), {}, stream);
    next();
    cuda::dequantize(e4m3, row, y_codes.view(), y_codes.scale_view(), bf16,
                     z.view(), stream);
    next();
    cuda::quantize(rows, z.view(), both.quantized(), turned.quantized(),
                   stream);
    next();
    cuda::retile({e4m3, e4m3, scale_kind::float32, tile, {}}, both.view(),
                 both.scale_view(), retiled.quantized(), stream);
    next();
    cuda::dequantize(e4m3, row, retiled.view(), retiled.scale_view(), bf16,
                     zt.view(), stream);
    next();
    cuda::quantize(blocks, zt.view(), blocked.quantized(),
                   blocked_t.quantized(), stream);
    next();
    cuda::transpose(e4m3, blocked.view(), blocked.scale_view(),
                    back.quantized(), stream);
    next();
    cuda::dequantize(e4m3, block, back.view(), back.scale_view(), bf16,
                     again.view(), stream);
    next();
    cuda::swiglu_forward(layer, again.view(), again.view(), h.view(),
                         h_codes.quantized(), g_cache.quantized(),
                         u_cache.quantized(), stream);
    next();
    cuda::swiglu_backward(layer, bf16, h.view(), g_cache.input(),
                          u_cache.input(), {}, dg.view(), du.view(), {}, {},
                          stream);
    next();
    cuda::dispatch(powers, dg.view(), indices(numbers), sent.quantized(),
                   stream);
    next();
    cuda::dequantize(e4m3, row, sent.view(), sent.scale_view(), bf16,
                     received.view(), stream);
    next();
    cuda::combine(combine_rule::fp32_slots, received.view(), indices(slots), {},
                  sums.view(), stream);
    next();
    cuda::rms_norm({bf16, bf16, 0x358637bd, rows}, sums.view(), w.view(),
                   normal.view(), {}, {}, stream);
    next();
    const matrix_view<std::uint32_t> largest(peak.scales.data(), 1, 1);
    cuda::group_amaxes(whole, normal.view(), largest, stream);
    next();
    cuda::quantize(whole, normal.view(), largest, amax.quantized(), {}, stream);
    next();
    cuda::dequantize(e4m3, whole.group, amax.view(), amax.scale_view(), bf16,
                     gradient.view(), stream);
    next();
    // Factors of 1 and 1/2 in place of a step's: whatever they are.
    constexpr std::uint32_t one = 0x3f800000, half = 0x3f000000;
    cuda::adamw({{half, half, one, half, half, one},
                 bf16,
                 bf16,
                 rounding::nearest_even,
                 0,
                 0},
                gradient.view(), moment.view(), second.view(), weights.view(),
                copy.view(), stream);
    next();
    cuda::quantize(twelve, copy.view(), wide.quantized(), {}, stream);
    next();
    cuda::pack(cuda::packing::bytes, wide.view(), packed.view(), stream);
    next();
    cuda::unpack(cuda::packing::bytes, packed.view(), unpacked.view(), stream);
    next();
    cuda::retile({e5m6, e4m3, scale_kind::pow2, tile, {}}, unpacked.view(),
                 wide.scale_view(), narrow.quantized(), stream);
    next();
  }

  std::vector<unsigned char> image() const {
    require(cudaDeviceSynchronize());
    std::vector<unsigned char> all;
    for (const memory* of : computed()) of->append_to(all);
    for (const memory* of : {&moment, &second, &weights}) of->append_to(all);
    return all;
  }
};

__global__ void stay(long long nanoseconds) {
  long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

/// A stream, and the chain in it as a graph.
class stream_and_graph {
 public:
  explicit stream_and_graph(const chain& c) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    c.run(stream_, [] {});
    cudaGraph_t graph = nullptr;
    require(cudaStreamEndCapture(stream_, &graph));
    require(cudaGraphInstantiate(&graph_, graph, 0));
    require(cudaGraphDestroy(graph));
  }
  stream_and_graph(const stream_and_graph&) = delete;
  stream_and_graph& operator=(const stream_and_graph&) = delete;
  ~stream_and_graph() {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }

  cudaStream_t stream() const { return stream_; }
  void launch_graph() const { require(cudaGraphLaunch(graph_, stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

verdict check_in_turn(const effort& e) {
  verdict v;
  const chain c(e.seed);
  const stream_and_graph run(c);
  c.spoil();
  c.run(run.stream(), finish_kernel);
  const auto right = c.image();
  const std::uint64_t count = cases(e, 2, 100);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const bool by_graph : {false, true}) {
      c.spoil();
      // Until all kernels are queued.
      stay<<<1, 1, 0, run.stream()>>>(1000000);
      if (by_graph) {
        run.launch_graph();
      } else {
        c.run(run.stream(), [] { require(cudaGetLastError()); });
      }
      const auto got = c.image();
      const auto differs = std::mismatch(got.begin(), got.end(), right.begin());
      v.count(differs.first == got.end(), [&] {
        return std::string(by_graph ? "a graph, run " : "run ") +
               std::to_string(i) + ": byte " +
               std::to_string(differs.first - got.begin()) +
               " of all that was computed";
      });
    }
  }
  return v;
}

}  // namespace

check_list kernel_in_turn_checks() {
  return {device_check("kernel.in_turn", "Q1 W1 S2 S4 S6", "property",
                       check_in_turn)};
}

}  // namespace zeroulp::conformance::device
