// Kernels right after one another, each reading what that before it writes, one
// at least of every unit but the GEMM's (kernel_gemm.cu): on the GPU they
// overlap, so each must wait. What they compute where each is awaited before
// the next is asked for they must compute again without, from a graph, and
// where what each reads is wrong until the last moment.

#include "conformance/device/same_bits.hpp"
#include "zeroulp/core/training.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr std::ptrdiff_t tile = 128;

__device__ void sleep(long long nanoseconds) {
  long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

__global__ void stay(long long nanoseconds) { sleep(nanoseconds); }

/// Turns all bits over, not before so long; the next kernel may begin sooner.
__global__ void turn_over(std::uint32_t* words, std::size_t count,
                          std::uint32_t* scales, std::size_t scale_count,
                          long long nanoseconds) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  sleep(nanoseconds);
  const std::size_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::size_t step = gridDim.x * blockDim.x;
  for (std::size_t i = first; i < count; i += step) words[i] = ~words[i];
  for (std::size_t i = first; i < scale_count; i += step) {
    scales[i] = ~scales[i];
  }
}

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
  /// Leaves it as it is, but wrong until the kernel after would have ended, did
  /// it not wait.
  void come_late(cudaStream_t stream) const {
    for (const long long nanoseconds : {0, 1000000}) {
      turn_over<<<32, 256, 0, stream>>>(
          reinterpret_cast<std::uint32_t*>(data.data()), size() / 4,
          scales.data(), scale_count(), nanoseconds);
    }
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

  /// next(made): after each kernel but the last, with what the next reads.
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
    next(y);
    cuda::quantize(rows, y.view(), y_codes.quantized(), {}, stream);
    next(y_codes);
    cuda::dequantize(e4m3, row, y_codes.view(), y_codes.scale_view(), bf16,
                     z.view(), stream);
    next(z);
    cuda::quantize(rows, z.view(), both.quantized(), turned.quantized(),
                   stream);
    next(both);
    cuda::retile({e4m3, e4m3, scale_kind::float32, tile, {}}, both.view(),
                 both.scale_view(), retiled.quantized(), stream);
    next(retiled);
    cuda::dequantize(e4m3, row, retiled.view(), retiled.scale_view(), bf16,
                     zt.view(), stream);
    next(zt);
    cuda::quantize(blocks, zt.view(), blocked.quantized(),
                   blocked_t.quantized(), stream);
    next(blocked);
    cuda::transpose(e4m3, blocked.view(), blocked.scale_view(),
                    back.quantized(), stream);
    next(back);
    cuda::dequantize(e4m3, block, back.view(), back.scale_view(), bf16,
                     again.view(), stream);
    next(again);
    cuda::swiglu_forward(layer, again.view(), again.view(), h.view(),
                         h_codes.quantized(), g_cache.quantized(),
                         u_cache.quantized(), stream);
    next(h);
    cuda::swiglu_backward(layer, bf16, h.view(), g_cache.input(),
                          u_cache.input(), {}, dg.view(), du.view(), {}, {},
                          stream);
    next(dg);
    cuda::dispatch(powers, dg.view(), indices(numbers), sent.quantized(),
                   stream);
    next(sent);
    cuda::dequantize(e4m3, row, sent.view(), sent.scale_view(), bf16,
                     received.view(), stream);
    next(received);
    cuda::combine(combine_rule::fp32_slots, received.view(), indices(slots), {},
                  sums.view(), stream);
    next(sums);
    cuda::rms_norm({bf16, bf16, 0x358637bd, rows}, sums.view(), w.view(),
                   normal.view(), {}, {}, stream);
    next(normal);
    const matrix_view<std::uint32_t> largest(peak.scales.data(), 1, 1);
    cuda::group_amaxes(whole, normal.view(), largest, stream);
    next(peak);
    cuda::quantize(whole, normal.view(), largest, amax.quantized(), {}, stream);
    next(amax);
    cuda::dequantize(e4m3, whole.group, amax.view(), amax.scale_view(), bf16,
                     gradient.view(), stream);
    next(gradient);
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
    next(copy);
    cuda::quantize(twelve, copy.view(), wide.quantized(), {}, stream);
    next(wide);
    cuda::pack(cuda::packing::bytes, wide.view(), packed.view(), stream);
    next(packed);
    cuda::unpack(cuda::packing::bytes, packed.view(), unpacked.view(), stream);
    next(unpacked);
    cuda::retile({e5m6, e4m3, scale_kind::pow2, tile, {}}, unpacked.view(),
                 wide.scale_view(), narrow.quantized(), stream);
  }

  std::vector<unsigned char> image() const {
    require(cudaDeviceSynchronize());
    std::vector<unsigned char> all;
    for (const memory* of : computed()) of->append_to(all);
    for (const memory* of : {&moment, &second, &weights}) of->append_to(all);
    return all;
  }
};

/// A stream, and the chain in it as a graph.
class stream_and_graph {
 public:
  explicit stream_and_graph(const chain& c) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    c.run(stream_, [](const memory&) {});
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
  c.run(run.stream(), [](const memory&) { finish_kernel(); });
  const auto right = c.image();
  const std::uint64_t count = cases(e, 2, 100);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto hold = [&](const char* how, auto launch) {
      c.spoil();
      launch();
      const auto got = c.image();
      const auto differs = std::mismatch(got.begin(), got.end(), right.begin());
      v.count(differs.first == got.end(), [&] {
        return std::string(how) + ", run " + std::to_string(i) + ": byte " +
               std::to_string(differs.first - got.begin()) +
               " of all that was computed";
      });
    };
    // Until all kernels are queued.
    const auto queue = [&] { stay<<<1, 1, 0, run.stream()>>>(1000000); };
    hold("launches", [&] {
      queue();
      c.run(run.stream(), [](const memory&) { require(cudaGetLastError()); });
    });
    hold("a graph", [&] {
      queue();
      run.launch_graph();
    });
    hold("each late", [&] {
      queue();
      c.run(run.stream(), [&](const memory& made) {
        made.come_late(run.stream());
        require(cudaGetLastError());
      });
    });
  }
  return v;
}

}  // namespace

check_list kernel_in_turn_checks() {
  return {device_check("kernel.in_turn", "Q1 W1 S2 S4 S6", "property",
                       check_in_turn)};
}

}  // namespace zeroulp::conformance::device
