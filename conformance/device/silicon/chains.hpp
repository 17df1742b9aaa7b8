// Defines `chain`: a sequence of kernels, each of which reads what the one
// before it writes, on `chain_matrix`es. Every kernel but the GEMM's (see
// kernel_gemm.cu) is in at least one of the chains.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SILICON_CHAINS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SILICON_CHAINS_HPP_

#include <deque>
#include <memory>
#include <vector>

#include "conformance/device/support/test.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {

/// The memory of a chain's matrices. Without a pitch each matrix has its own
/// memory without gaps. With one, the matrices lie side by side and the rows
/// are `pitch` bytes apart.
class chain_room {
 public:
  chain_room(std::ptrdiff_t rows, std::ptrdiff_t pitch) : pitch_(pitch) {
    if (pitch != 0) add(rows * pitch);
  }
  /// Bytes from one row to the next.
  std::ptrdiff_t pitch_of(std::ptrdiff_t width) const {
    return pitch_ == 0 ? width : pitch_;
  }
  char* take(std::ptrdiff_t rows, std::ptrdiff_t width) {
    if (pitch_ == 0) return add(rows * width);
    char* const first = buffers_[0]->data() + used_;
    used_ += ceil_div(width, 256) * 256;
    if (used_ > pitch_) throw std::logic_error("no room for a chain");
    return first;
  }

 private:
  char* add(std::ptrdiff_t bytes) {
    buffers_.push_back(
        std::make_unique<device_buffer<char>>(static_cast<std::size_t>(bytes)));
    return buffers_.back()->data();
  }

  std::ptrdiff_t pitch_, used_ = 0;
  std::vector<std::unique_ptr<device_buffer<char>>> buffers_;
};

/// Rows of bytes on the device.
struct chain_rows {
  std::ptrdiff_t rows, width, pitch;  // the latter two in bytes
  char* first;

  chain_rows(chain_room& room, std::ptrdiff_t m, std::ptrdiff_t bytes)
      : rows(m),
        width(bytes),
        pitch(room.pitch_of(bytes)),
        first(room.take(m, bytes)) {}

  std::uint32_t* words() const {
    return reinterpret_cast<std::uint32_t*>(first);
  }
  std::size_t size() const { return static_cast<std::size_t>(rows * width); }
  void fill(int byte) const {
    require(cudaMemset2D(first, to_size(pitch), byte, to_size(width),
                         to_size(rows)));
  }
  void upload(const void* dense) const {
    require(cudaMemcpy2D(first, to_size(pitch), dense, to_size(width),
                         to_size(width), to_size(rows),
                         cudaMemcpyHostToDevice));
  }
  std::vector<unsigned char> content() const {
    std::vector<unsigned char> dense(size());
    require(cudaMemcpy2D(dense.data(), to_size(width), first, to_size(pitch),
                         to_size(width), to_size(rows),
                         cudaMemcpyDeviceToHost));
    return dense;
  }

 private:
  static std::size_t to_size(std::ptrdiff_t x) {
    return static_cast<std::size_t>(x);
  }
};

/// A matrix and room for the scales of its codes, in groups of 1x128 or larger,
/// row-major.
struct chain_matrix {
  std::ptrdiff_t cols, bytes;  // bytes: of an element
  chain_rows data, scales;

  chain_matrix(chain_room& room, std::ptrdiff_t m, std::ptrdiff_t n,
               std::ptrdiff_t element_bytes)
      : cols(n),
        bytes(element_bytes),
        data(room, m, n * bytes),
        scales(room, m, 4 * ceil_div(n, 128)) {}

  cuda::matrix view() const {
    return {data.first, data.rows, cols, data.pitch / bytes};
  }
  cuda::scales scale_view() const { return {scales.words(), scales.pitch / 4}; }
  cuda::quantized quantized() const { return {view(), scale_view()}; }
  cuda::const_quantized input() const { return {view(), scale_view()}; }
  /// Views of four-byte elements as scales, words, row numbers.
  cuda::scales as_scales() const { return {data.words(), data.pitch / 4}; }
  matrix_view<std::uint32_t> words() const { return as<std::uint32_t>(); }
  /// A view of elements of type T.
  template <class T>
  matrix_view<T> as() const {
    return {reinterpret_cast<T*>(data.first), data.rows, cols,
            data.pitch / static_cast<std::ptrdiff_t>(sizeof(T)), 1};
  }
  cuda::row_numbers numbers() const {
    return {reinterpret_cast<const std::int32_t*>(data.first), data.rows, cols,
            data.pitch / 4};
  }
};

class chain {
 public:
  /// Called before each kernel with all matrices that it reads.
  using step = std::function<void(std::vector<const chain_matrix*>)>;
  /// The contents of a matrix or its scales.
  using content = std::vector<unsigned char>;

  virtual ~chain() = default;
  virtual void run(cudaStream_t stream, const step& before) const = 0;

  /// Clears updated matrices; sets all bits of computed ones and of scales.
  void spoil() const;
  /// Returns all updated and computed matrices, each followed by its scales.
  std::vector<content> image() const;
  /// Returns how many larger matrices have at most two different byte values:
  /// only NaN or only zeros, which would hide errors.
  int vacuous() const;

 protected:
  enum class role { given, updated, computed };

  explicit chain(chain_room room) : room_(std::move(room)) {}
  const chain_matrix& make(role of, std::ptrdiff_t m, std::ptrdiff_t n,
                           std::ptrdiff_t bytes) {
    return all_.emplace_back(of, chain_matrix(room_, m, n, bytes)).second;
  }
  const chain_matrix& make(std::ptrdiff_t m, std::ptrdiff_t n,
                           std::ptrdiff_t bytes) {
    return make(role::computed, m, n, bytes);
  }
  /// Makes BF16 numbers within a few binades.
  const chain_matrix& make_numbers(std::ptrdiff_t m, std::ptrdiff_t n,
                                   counter_rng& rng);
  /// Makes row numbers from 0 to below - 1.
  const chain_matrix& make_row_numbers(std::ptrdiff_t m, std::ptrdiff_t n,
                                       std::ptrdiff_t below, counter_rng& rng);
  /// Makes m row numbers below m, of which no two are equal; a quarter are -1.
  const chain_matrix& make_places(std::ptrdiff_t m, counter_rng& rng);

 private:
  chain_room room_;
  std::deque<std::pair<role, chain_matrix>> all_;
};

/// The parameters of a chain.
struct chain_setting {
  std::ptrdiff_t m, n;
  scale_kind scale;
  std::uint64_t seed;
  std::ptrdiff_t pitch = 0;  ///< of the rows of all its matrices; 0: none
};

/// BF16 throughout. If m and n are multiples of 128, rows are aligned and
/// consist of whole vec8s (vectors of 8 elements), so the fastest kernels run.
std::unique_ptr<chain> make_aligned_chain(const chain_setting& s);
/// BF16, then FP32, with every output of each kernel: kernels for other formats
/// and groups and, if n is odd, for rows that are not aligned.
std::unique_ptr<chain> make_odd_chain(const chain_setting& s);
/// The model's kernels that overlap with what is launched before them.
std::unique_ptr<chain> make_model_chain(const chain_setting& s);

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SILICON_CHAINS_HPP_
