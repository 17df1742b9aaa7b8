// Chains of kernels. Right after one another they overlap on the GPU, so each
// must wait: what they compute where each is awaited before the next is asked
// for they must compute again without, from a graph, and where what each reads
// is wrong until the last moment. And of matrices whose rows lie so far apart
// that the last ones begin more than 2^32 bytes from the first.

#include "conformance/device/chains.hpp"
#include "conformance/device/same_bits.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

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

/// Leaves x as it is, but wrong until the kernel after would have ended, did it
/// not wait. x has no gaps.
void come_late(const chain_matrix& x, cudaStream_t stream) {
  for (const long long nanoseconds : {0, 1000000}) {
    turn_over<<<32, 256, 0, stream>>>(x.data.words(), x.data.size() / 4,
                                      x.scales.words(), x.scales.size() / 4,
                                      nanoseconds);
  }
}

/// A stream, and the chain in it as a graph.
class stream_and_graph {
 public:
  explicit stream_and_graph(const chain& c) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    c.run(stream_, [](const chain_matrix&) {});
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

/// Computes all of a chain, each kernel by itself.
std::vector<unsigned char> image_of(const chain& c) {
  c.spoil();
  c.run(nullptr, [](const chain_matrix&) { finish_kernel(); });
  return c.image();
}

struct named_chain {
  const char* name;
  std::unique_ptr<chain> (*make)(const chain_setting&);
  std::ptrdiff_t m, n;          // as they are
  std::ptrdiff_t far_m, far_n;  // where rows are far apart
};
constexpr named_chain chains[] = {
    {"aligned", make_aligned_chain, 256, 1024, 512, 384},
    {"odd", make_odd_chain, 251, 1001, 512, 383}};

/// Calls use(what, chain, scale) for every chain and kind of scale.
template <class Use>
void for_each_chain(Use use) {
  for (const auto& c : chains) {
    for (const auto kind : {scale_kind::float32, scale_kind::pow2}) {
      use(std::string(c.name) + ", " + std::string(name_of(kind)), c, kind);
    }
  }
}

/// Counts whether both are the same.
void compare_images(const std::vector<unsigned char>& got,
                    const std::vector<unsigned char>& right,
                    const std::string& what, verdict& v) {
  const auto differs =
      std::mismatch(got.begin(), got.end(), right.begin(), right.end());
  v.count(got == right, [&] {
    return what + ": byte " + std::to_string(differs.first - got.begin()) +
           " of all that was computed";
  });
}

verdict check_in_turn(const effort& e) {
  verdict v;
  const std::uint64_t count = cases(e, 2, 40);
  for_each_chain(
      [&](const std::string& what, const named_chain& of, scale_kind kind) {
        const auto c = of.make({of.m, of.n, kind, e.seed});
        const auto right = image_of(*c);
        v.count(c->vacuous() == 0, [&] {
          return what + ": " + std::to_string(c->vacuous()) + " say nothing";
        });
        const stream_and_graph run(*c);
        for (std::uint64_t i = 0; i < count; ++i) {
          const auto hold = [&](const char* how, auto launch) {
            c->spoil();
            launch();
            compare_images(c->image(), right,
                           what + ", " + how + ", run " + std::to_string(i), v);
          };
          // Until all kernels are queued.
          const auto queue = [&] { stay<<<1, 1, 0, run.stream()>>>(1000000); };
          hold("launches", [&] {
            queue();
            c->run(run.stream(),
                   [](const chain_matrix&) { require(cudaGetLastError()); });
          });
          hold("a graph", [&] {
            queue();
            run.launch_graph();
          });
          hold("each late", [&] {
            queue();
            c->run(run.stream(), [&](const chain_matrix& made) {
              come_late(made, run.stream());
              require(cudaGetLastError());
            });
          });
        }
      });
  return v;
}

verdict check_far_rows(const effort& e) {
  constexpr std::ptrdiff_t pitch = 1 << 24;
  verdict v;
  for_each_chain(
      [&](const std::string& what, const named_chain& of, scale_kind kind) {
        chain_setting s{of.far_m, of.far_n, kind, e.seed};
        const auto right = image_of(*of.make(s));
        s.pitch = pitch;
        compare_images(image_of(*of.make(s)), right, what, v);
      });
  return v;
}

}  // namespace

check_list kernel_in_turn_checks() {
  return {device_check("kernel.in_turn", "Q1 W1 S2 S4 S6", "property",
                       check_in_turn),
          device_check("kernel.far_rows", "Q1 W1 S2 S4 S6", "property",
                       check_far_rows)};
}

}  // namespace zeroulp::conformance::device
