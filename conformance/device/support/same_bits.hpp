// Defines `same_bits`: evaluates a function of an index on the device and again
// on all cores of the host, and requires the same bits. If the function has
// `std::string describe(i)`, messages include its description of a case.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_SAME_BITS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_SAME_BITS_HPP_

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/device/support/test.hpp"

namespace zeroulp::conformance::device {

/// Returns ", name 1a2b".
inline std::string in_hex(std::string_view name, std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, " %llx",
                static_cast<unsigned long long>(value));
  return ", " + std::string(name) + text;
}

/// Returns ", name 1a 2b 3c".
template <class T>
std::string in_hex(std::string_view name, const T* values, int count) {
  std::string all = ", " + std::string(name);
  for (int i = 0; i < count; ++i) all += in_hex({}, values[i]).substr(2);
  return all;
}

template <class Function, class Result>
__global__ void evaluate(Function f, std::uint64_t first, std::uint64_t count,
                         Result* out) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) out[i] = f(first + i);
}

/// Returns how many of got[0..count) differ from f(first + i), and the first.
template <class Function, class Result>
verdict compare_on_host(const Function& f, std::uint64_t first,
                        std::uint64_t count, const Result* got) {
  std::atomic<std::uint64_t> mismatches{0};
  std::atomic<std::uint64_t> lowest{count};
  std::mutex guard;
  verdict result;
  const auto work = [&](std::uint64_t begin, std::uint64_t end) {
    output_digest device, host;
    for (std::uint64_t i = begin; i < end; ++i) {
      const Result right = f(first + i);
      device.add(got[i]), host.add(right);
      if (right == got[i]) continue;
      ++mismatches;
      auto seen = lowest.load();
      while (i < seen && !lowest.compare_exchange_weak(seen, i)) {
      }
    }
    const std::lock_guard<std::mutex> lock(guard);
    result.got.add_sum(device.sum()), result.expected.add_sum(host.sum());
  };
  const std::uint64_t workers =
      std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t share = (count + workers - 1) / workers;
  std::vector<std::thread> threads;
  for (std::uint64_t begin = 0; begin < count; begin += share) {
    threads.emplace_back(work, begin, std::min(begin + share, count));
  }
  for (auto& t : threads) t.join();

  result.cases = count;
  result.failures = mismatches;
  if (result.failures != 0) {
    const std::uint64_t i = lowest;
    result.first_failure = "case " + std::to_string(first + i) +
                           in_hex("device", got[i]) +
                           in_hex("host", f(first + i));
    if constexpr (requires { f.describe(i); }) {
      result.first_failure += ": " + f.describe(first + i);
    }
  }
  return result;
}

/// Compares f(0) to f(count - 1), which are integers, between device and host.
template <class Function>
verdict same_bits(const Function& f, std::uint64_t count) {
  using result_type = decltype(f(0));
  constexpr std::uint64_t chunk = std::uint64_t{1} << 24;
  const auto size = static_cast<std::size_t>(std::min(chunk, count));
  const device_buffer<result_type> buffer(size);
  std::vector<result_type> got(size);
  verdict total;
  for (std::uint64_t first = 0; first < count; first += chunk) {
    const auto n = static_cast<std::size_t>(std::min(chunk, count - first));
    const auto blocks =
        static_cast<unsigned>(std::min<std::size_t>((n + 127) / 128, 132 * 64));
    evaluate<<<blocks, 128>>>(f, first, n, buffer.data());
    finish_kernel();
    buffer.copy_to(got.data(), n);
    total += compare_on_host(f, first, n, got.data());
  }
  return total;
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_SAME_BITS_HPP_
