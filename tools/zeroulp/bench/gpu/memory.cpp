#include "tools/zeroulp/bench/gpu/memory.hpp"

#include <cstring>

#include "zeroulp/random.hpp"

namespace zeroulp::program {
namespace {

using bytes_vector = std::vector<unsigned char>;

constexpr std::uint32_t pool_count = 1 << 18;
constexpr std::size_t alignment = 512;

template <class T>
bytes_vector bytes_of(const std::vector<T>& v) {
  bytes_vector all(v.size() * sizeof(T));
  std::memcpy(all.data(), v.data(), all.size());
  return all;
}

template <class T>
bytes_vector normal_pool_of(format f, bool positive, int exponent) {
  auto codes = normal_codes<T>(f, 41, pool_count, exponent);
  if (positive) {
    for (T& code : codes) code = static_cast<T>(code & f.magnitude_mask());
  }
  return bytes_of(codes);
}

bytes_vector normal_pool(format f, bool positive, int exponent = 0) {
  return (f.bits() <= 8 ? normal_pool_of<std::uint8_t>
          : f.bits() <= 16
              ? normal_pool_of<std::uint16_t>
              : normal_pool_of<std::uint32_t>)(f, positive, exponent);
}

/// Elements to pick from, at least pool_count of them.
bytes_vector make_pool(gpu_fill fill, format f) {
  std::vector<std::uint32_t> words(pool_count);
  constexpr std::uint32_t cached = 7;  // exponent
  // Powers of two from 2^-most to 2^most.
  const auto take_powers = [&](std::uint32_t most) {
    for (std::uint32_t i = 0; i < pool_count; ++i) {
      words[i] = (127 - most + i % (2 * most + 1)) << 23;
    }
  };
  const auto divide_by_cached = [&] {
    for (auto& word : words) word -= cached << 23;
  };
  switch (fill) {
    case gpu_fill::normal:
    case gpu_fill::positive:
      return normal_pool(f, fill == gpu_fill::positive);
    case gpu_fill::scales:
      words = random_scales(42, pool_count);
      break;
    case gpu_fill::powers:
      take_powers(6);
      break;
    case gpu_fill::cached:
      return normal_pool(f, false, cached);
    case gpu_fill::cached_scales:
      words = random_scales(42, pool_count);
      divide_by_cached();
      break;
    case gpu_fill::cached_powers:
      take_powers(1);
      divide_by_cached();
      break;
    case gpu_fill::bits:
      for (std::uint32_t i = 0; i < pool_count; ++i) {
        words[i] = counter_rng(43, i).next32();
      }
      break;
  }
  return bytes_of(words);
}

}  // namespace

double gpu_event::seconds_since(const gpu_event& start) const {
  float ms = 0;
  require_cuda(cudaEventElapsedTime(&ms, start.event_, event_));
  return 1e-3 * static_cast<double>(ms);
}

set_layout::set_layout(const std::vector<gpu_operand>& operands)
    : at(operands.size()) {
  for (const bool written : {false, true}) {
    if (written) written_from = bytes;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if ((operands[i].use == gpu_use::write) != written) continue;
      at[i] = bytes;
      bytes += (operands[i].bytes() + alignment - 1) / alignment * alignment;
    }
  }
}

engine::code_view view_of(const gpu_operand& o, void* data) {
  return {data, o.is.m, o.is.n, o.is.n, 1, static_cast<int>(o.element_bytes())};
}

gpu_matrices views_of(const gpu_operation& op, const set_layout& layout,
                      unsigned char* set) {
  gpu_matrices all;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    all.push_back(view_of(op.operands[i], set + layout.at[i]));
  }
  return all;
}

const void* set_maker::pool_of(gpu_fill fill, format f, cudaStream_t stream) {
  const auto key = std::make_pair(fill, name_of(f));
  auto found = pools_.find(key);
  if (found == pools_.end()) {
    const auto bytes = make_pool(fill, f);
    device_memory m(bytes.size());
    // In the stream: cudaMemcpy may return before its copy has arrived, and a
    // stream that does not block would not wait for it.
    require_cuda(cudaMemcpyAsync(m.data(), bytes.data(), bytes.size(),
                                 cudaMemcpyHostToDevice, stream));
    require_cuda(cudaStreamSynchronize(stream));
    found = pools_.emplace(key, std::move(m)).first;
  }
  return found->second.data();
}

std::vector<device_memory> set_maker::make(
    const std::vector<gpu_operand>& operands, const set_layout& layout,
    std::size_t count, cudaStream_t stream) {
  std::vector<device_memory> sets;
  for (std::size_t s = 0; s < count; ++s) {
    sets.emplace_back(layout.bytes);
    unsigned char* to = sets[s].data();
    if (s > 0) {
      require_cuda(cudaMemcpyAsync(to, sets[0].data(), layout.bytes,
                                   cudaMemcpyDeviceToDevice, stream));
      continue;
    }
    require_cuda(cudaMemsetAsync(to, poison, layout.bytes, stream));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto& o = operands[i];
      if (!o.is_filled()) continue;
      if (!o.words.empty()) {
        require_cuda(cudaMemcpyAsync(to + layout.at[i], o.words.data(),
                                     o.bytes(), cudaMemcpyHostToDevice,
                                     stream));
        continue;
      }
      launch_fill(pool_of(o.fill, o.element, stream), pool_count,
                  static_cast<int>(o.element_bytes()), to + layout.at[i],
                  static_cast<std::size_t>(o.is.count()), 50 + i, stream);
    }
  }
  return sets;
}

}  // namespace zeroulp::program
