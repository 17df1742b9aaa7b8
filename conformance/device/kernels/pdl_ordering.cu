// Chains of kernels with programmatic dependent launch. Kernels launched right
// after one another overlap on the GPU, so that each must wait for its input.
// The reference synchronizes after every kernel. The same bits must result
// without that, from a CUDA graph, and when each kernel's input is wrong until
// the last moment. Also chains on matrices whose rows are so far apart that the
// last ones begin more than 2^32 words after the first.

#include "conformance/device/silicon/chains.hpp"
#include "conformance/device/support/same_bits.hpp"
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

using chain_matrices = std::vector<const chain_matrix*>;

/// Words to invert in one launch: all that a kernel reads, with scales.
struct turned_words {
  static constexpr int most = 12;
  std::uint32_t* words[most] = {};
  std::size_t count[most] = {};
};

/// Inverts all bits, but only after a delay. The next kernel may start before.
__global__ void turn_over(const __grid_constant__ turned_words all,
                          long long nanoseconds) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  sleep(nanoseconds);
  const std::size_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::size_t step = gridDim.x * blockDim.x;
  for (int n = 0; n < turned_words::most; ++n) {
    for (std::size_t i = first; i < all.count[n]; i += step) {
      all.words[n][i] = ~all.words[n][i];
    }
  }
}

/// Inverts the matrices twice, which leaves them as they are. The second time
/// is so late that a next kernel that did not wait would have read them wrong.
/// The matrices have no gaps.
void come_late(const chain_matrices& read, cudaStream_t stream) {
  turned_words all;
  int n = 0;
  for (const chain_matrix* x : read) {
    for (const chain_rows* rows : {&x->data, &x->scales}) {
      if (n == turned_words::most) throw std::logic_error("too much is read");
      all.words[n] = rows->words();
      all.count[n++] = rows->size() / 4;
    }
  }
  for (const long long nanoseconds : {0, 1000000}) {
    turn_over<<<32, 256, 0, stream>>>(all, nanoseconds);
  }
}

/// A stream, and the chain captured from it as a graph.
class stream_and_graph {
 public:
  explicit stream_and_graph(const chain& c) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    c.run(stream_, [](const chain_matrices&) {});
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

/// Runs a chain with a synchronization before each kernel; returns its results.
std::vector<chain::content> image_of(const chain& c) {
  c.spoil();
  c.run(nullptr, [](const chain_matrices&) { finish_kernel(); });
  return c.image();
}

struct named_chain {
  const char* name;
  std::unique_ptr<chain> (*make)(const chain_setting&);
  std::ptrdiff_t m, n;          // without a pitch
  std::ptrdiff_t far_m, far_n;  // with rows far apart
};
constexpr named_chain chains[] = {
    {"aligned", make_aligned_chain, 256, 1024, 520, 528},
    {"odd", make_odd_chain, 251, 1001, 520, 527},
    {"model", make_model_chain, 600, 1024, 520, 528},
    {"odd model", make_model_chain, 601, 1001, 520, 527}};

/// Calls use(what, chain, scale) for every chain and kind of scale.
template <class Use>
void for_each_chain(Use use) {
  for (const auto& c : chains) {
    for (const auto kind : {scale_kind::float32, scale_kind::pow2}) {
      use(std::string(c.name) + ", " + std::string(name_of(kind)), c, kind);
    }
  }
}

/// Counts one case, a failure if the two differ.
void compare_images(const std::vector<chain::content>& got,
                    const std::vector<chain::content>& right,
                    const std::string& what, verdict& v) {
  v.compare(got, right, [&] {
    std::size_t i = 0;
    while (got[i] == right[i]) ++i;
    const auto at = std::mismatch(got[i].begin(), got[i].end(),
                                  right[i].begin(), right[i].end());
    return what + ": byte " + std::to_string(at.first - got[i].begin()) +
           (i % 2 == 0 ? "" : " of the scales") + " of matrix " +
           std::to_string(i / 2);
  });
}

/// Counts one case, a failure if the chain's results would hide errors.
void need_content(const chain& c, const std::string& what, verdict& v) {
  v.count(c.vacuous() == 0, [&] {
    return what + ": " + std::to_string(c.vacuous()) +
           " matrices of NaN or zeros alone";
  });
}

verdict check_in_turn(const effort& e) {
  verdict v;
  const std::uint64_t count = cases(e, 2, 40);
  for_each_chain(
      [&](const std::string& what, const named_chain& of, scale_kind kind) {
        const auto c = of.make({of.m, of.n, kind, e.seed});
        const auto right = image_of(*c);
        need_content(*c, what, v);
        const stream_and_graph run(*c);
        for (std::uint64_t i = 0; i < count; ++i) {
          const auto hold = [&](const char* how, auto launch) {
            c->spoil();
            launch();
            compare_images(c->image(), right,
                           what + ", " + how + ", run " + std::to_string(i), v);
          };
          // Keeps the stream busy until all kernels are queued.
          const auto queue = [&] { stay<<<1, 1, 0, run.stream()>>>(1000000); };
          hold("launches", [&] {
            queue();
            c->run(run.stream(),
                   [](const chain_matrices&) { require(cudaGetLastError()); });
          });
          hold("a graph", [&] {
            queue();
            run.launch_graph();
          });
          hold("each late", [&] {
            queue();
            c->run(run.stream(), [&](const chain_matrices& read) {
              come_late(read, run.stream());
              require(cudaGetLastError());
            });
          });
        }
      });
  return v;
}

/// Indices of bytes, elements and words all exceed 32 bits.
verdict check_far_rows(const effort& e) {
  constexpr std::ptrdiff_t pitch = 1 << 25;
  verdict v;
  for_each_chain(
      [&](const std::string& what, const named_chain& of, scale_kind kind) {
        chain_setting s{of.far_m, of.far_n, kind, e.seed};
        const auto dense = of.make(s);
        const auto right = image_of(*dense);
        need_content(*dense, what, v);
        s.pitch = pitch;
        compare_images(image_of(*of.make(s)), right, what, v);
      });
  return v;
}

}  // namespace

check_list kernel_in_turn_checks() {
  const char* const clauses =
      "Q1 P1 P2 W1 W6 S2 S3 S4 S6 S9 S11 N3 N14 N15 N17";
  return {device_check("kernel.in_turn", clauses, "property", check_in_turn),
          device_check("kernel.far_rows", clauses, "property", check_far_rows)};
}

}  // namespace zeroulp::conformance::device
