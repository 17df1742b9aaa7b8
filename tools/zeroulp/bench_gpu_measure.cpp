// One operation: its bits, the fastest stream of its bytes, its rounds.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench_gpu_memory.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

using bytes_vector = std::vector<unsigned char>;

/// Bytes of a launch, each matrix once.
struct traffic {
  std::size_t read = 0;
  std::size_t written = 0;

  explicit traffic(const gpu_operation& op) {
    for (const auto& o : op.operands) {
      if (o.use != gpu_use::write) read += o.bytes();
      if (o.use != gpu_use::read) written += o.bytes();
    }
  }
};

/// What the stream reads and writes.
std::vector<gpu_operand> as_operands(const traffic& t) {
  const auto line = [](std::size_t bytes) {
    return shape{1, static_cast<std::ptrdiff_t>((bytes + 1) / 2)};
  };
  return {{"in", gpu_use::read, bf16, line(t.read)},
          {"out", gpu_use::write, bf16, line(t.written)}};
}

std::uint32_t element_at(const bytes_vector& v, std::size_t i,
                         std::size_t bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, v.data() + i * bytes, bytes);
  return word;
}

void hold(const gpu_operand& o, const bytes_vector& got,
          const bytes_vector& want) {
  if (got == want) return;
  const auto different = std::mismatch(got.begin(), got.end(), want.begin());
  const auto width = static_cast<std::size_t>(o.element_bytes());
  const std::size_t i =
      static_cast<std::size_t>(different.first - got.begin()) / width;
  const auto n = static_cast<std::size_t>(o.is.n);
  throw bench_mismatch(fmt::format("{} ({}, {}): {:0{}x}, engine {:0{}x}",
                                   o.name, i / n, i % n,
                                   element_at(got, i, width), 2 * width,
                                   element_at(want, i, width), 2 * width));
}

}  // namespace

struct gpu_bench::state {
  using job = std::function<void()>;

  cudaStream_t stream = nullptr;
  std::size_t l2_bytes = 0;
  std::vector<stream_kernel> kernels;
  set_maker maker;
  gpu_sensors sensors;
  device_memory counter{sizeof(unsigned long long)};

  explicit state(const std::string& pci_bus_id) : sensors(pci_bus_id) {
    require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~state() { cudaStreamDestroy(stream); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  bytes_vector download(const void* from, std::size_t bytes) const {
    bytes_vector v(bytes);
    require_cuda(cudaStreamSynchronize(stream));
    require_cuda(cudaMemcpy(v.data(), from, bytes, cudaMemcpyDeviceToHost));
    return v;
  }
  void hold_set(const gpu_operation& op, const set_layout& layout,
                unsigned char* set) const;
  void hold_others(const set_layout& layout, const device_memory& right,
                   const std::vector<device_memory>& sets) const;
  std::vector<double> times(const std::vector<const job*>& jobs, int launches);
};

/// Launches once and holds all of the result against the engine's.
void gpu_bench::state::hold_set(const gpu_operation& op,
                                const set_layout& layout,
                                unsigned char* set) const {
  std::vector<bytes_vector> host;
  gpu_matrices views;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const auto& o = op.operands[i];
    host.push_back(o.use == gpu_use::write
                       ? bytes_vector(o.bytes())
                       : download(set + layout.at[i], o.bytes()));
    views.push_back(view_of(o, host.back().data()));
  }
  op.launch(views_of(op, layout, set), stream);
  op.expect(views);  // while it runs
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const auto& o = op.operands[i];
    if (o.use == gpu_use::read) continue;
    hold(o, download(set + layout.at[i], o.bytes()), host[i]);
  }
}

/// All sets had the same inputs, so what the rounds wrote is what was held.
void gpu_bench::state::hold_others(
    const set_layout& layout, const device_memory& right,
    const std::vector<device_memory>& sets) const {
  auto* differing = reinterpret_cast<unsigned long long*>(counter.data());
  require_cuda(cudaMemsetAsync(differing, 0, sizeof *differing, stream));
  for (const auto& set : sets) {
    launch_compare(right.data(), set.data() + layout.written_from,
                   layout.written(), differing, stream);
  }
  const auto bytes = download(differing, sizeof *differing);
  unsigned long long count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  if (count == 0) return;
  throw bench_mismatch(fmt::format(
      "{} pieces of 16 bytes changed from launch to launch", count));
}

/// Seconds of a launch of each of the jobs, done in this order without a pause,
/// so many launches each.
std::vector<double> gpu_bench::state::times(const std::vector<const job*>& jobs,
                                            int launches) {
  std::vector<gpu_event> marks(jobs.size() + 1);
  marks[0].record(stream);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (int i = 0; i < launches; ++i) (*jobs[j])();
    marks[j + 1].record(stream);
  }
  sensors.sample();
  marks.back().wait();
  std::vector<double> seconds;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    seconds.push_back(marks[j + 1].seconds_since(marks[j]) / launches);
  }
  return seconds;
}

gpu_bench::gpu_bench() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    throw input_error("bench gpu: no NVIDIA GPU here, or no driver for it");
  }
  int device = 0;
  cudaDeviceProp properties{};
  require_cuda(cudaGetDevice(&device));
  require_cuda(cudaGetDeviceProperties(&properties, device));
  if (properties.major != 9 || properties.minor != 0) {
    throw input_error(
        fmt::format("bench gpu: {} is not of compute capability 9.0 (Hopper)",
                    properties.name));
  }
  char bus[32] = {};
  require_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  state_ = std::make_unique<state>(bus);
  state_->l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  state_->kernels = make_streams();
}

gpu_bench::~gpu_bench() = default;

gpu_result gpu_bench::measure(const gpu_operation& op, const gpu_effort& how) {
  auto& s = *state_;
  const traffic bytes(op);
  const std::size_t count = 2 * s.l2_bytes / (bytes.read + bytes.written) + 2;

  const set_layout layout(op.operands);
  const auto sets = s.maker.make(op.operands, layout, count, s.stream);
  s.hold_set(op, layout, sets[0].data());
  const device_memory right(layout.written());
  require_cuda(
      cudaMemcpyAsync(right.data(), sets[0].data() + layout.written_from,
                      layout.written(), cudaMemcpyDeviceToDevice, s.stream));

  const auto passed = as_operands(bytes);
  const set_layout pass_layout(passed);
  const auto pass_sets = s.maker.make(passed, pass_layout, count, s.stream);

  std::vector<gpu_matrices> matrices;
  for (const auto& set : sets) {
    matrices.push_back(views_of(op, layout, set.data()));
  }
  std::size_t turn = 0;
  const state::job ours = [&] {
    op.launch(matrices[turn++ % count], s.stream);
  };
  const stream_kernel* kernel = nullptr;
  const state::job stream = [&] {
    unsigned char* set = pass_sets[turn++ % count].data();
    launch(*kernel, set, bytes.read, set + pass_layout.written_from,
           bytes.written, s.stream);
  };

  const stream_kernel* fastest = nullptr;
  double least = 0;
  for (const auto& k : s.kernels) {
    kernel = &k;
    const auto t = s.times({&stream, &stream, &stream}, how.launches);
    const double seconds = std::min(t[1], t[2]);
    if (fastest != nullptr && seconds >= least) continue;
    fastest = &k;
    least = seconds;
  }
  kernel = fastest;

  gpu_result result;
  result.read = static_cast<double>(bytes.read);
  result.written = static_cast<double>(bytes.written);
  result.stream = fastest->name;
  s.sensors.clear();
  for (int round = 0; round < how.rounds; ++round) {
    // The first keeps the queue full.
    const auto t =
        s.times({&stream, &ours, &stream, &stream, &ours}, how.launches);
    result.seconds.push_back((t[1] + t[4]) / 2);
    result.stream_seconds.push_back((t[2] + t[3]) / 2);
  }
  result.clock_mhz = s.sensors.clock_mhz();
  result.power_w = s.sensors.power_w();
  const bool repeats =
      std::none_of(op.operands.begin(), op.operands.end(),
                   [](const auto& o) { return o.use == gpu_use::update; });
  if (repeats) s.hold_others(layout, right, sets);
  return result;
}

}  // namespace zeroulp::program
