// Defines how arrays and files enter and leave: `array`, `read_npy`,
// `write_npy`, `output_set` and the one error they throw, `input_error`.
//
// Source: the NumPy array format, versions 1.0, 2.0 and 3.0 (numpy.lib.format).
// Left out: big-endian, structured, object, signed and complex arrays, .npz.

#ifndef ZEROULP_IO_HPP_
#define ZEROULP_IO_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace zeroulp {

/// A request or its input is bad. what() is one line: where, what, what to do.
class input_error : public std::runtime_error {
 public:
  /// Control characters of `message` are replaced, so that it stays one line.
  explicit input_error(std::string_view message);
};

/// Element types of the .npy files that the library reads and writes.
enum class dtype : std::uint8_t { f16, f32, f64, u8, u16, u32 };

/// Returns the size of an element in bytes.
constexpr std::size_t size_of(dtype type) {
  switch (type) {
    case dtype::u8:
      return 1;
    case dtype::f16:
    case dtype::u16:
      return 2;
    case dtype::f32:
    case dtype::u32:
      return 4;
    case dtype::f64:
      return 8;
  }
  return 0;
}

/// Returns the name of the type in a .npy header, such as "<f4" or "|u1".
std::string_view descr_of(dtype type);

/// The dtype that stores a T. uint16_t gives u16; callers name f16 explicitly.
template <class T>
constexpr dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>) return dtype::f32;
  if constexpr (std::is_same_v<T, double>) return dtype::f64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return dtype::u8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return dtype::u16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return dtype::u32;
}

/// A dense array of any rank, elements in C order (last index fastest).
struct array {
  dtype type = dtype::f32;
  std::vector<std::size_t> shape;
  std::vector<std::byte> data;

  /// Returns the number of elements.
  std::size_t size() const { return data.size() / size_of(type); }

  /// Returns the elements as T: the type itself, or an unsigned integer of its
  /// size for the raw bits (f16 is uint16_t). Throws std::invalid_argument.
  template <class T>
  std::span<const T> as() const {
    bool fits = sizeof(T) == size_of(type);
    if constexpr (std::is_floating_point_v<T>) {
      fits = fits && dtype_of<T>() == type;
    }
    if (!fits) {
      throw std::invalid_argument("zeroulp::array: elements of another type");
    }
    return {reinterpret_cast<const T*>(data.data()), size()};
  }
};

/// Returns an array of `shape` that holds a copy of `elements`, whose number
/// must be the product of `shape`. Throws std::invalid_argument.
template <class T>
array make_array(std::vector<std::size_t> shape, std::span<const T> elements,
                 dtype type = dtype_of<T>()) {
  std::size_t count = 1;
  for (const std::size_t dim : shape) count *= dim;
  if (count != elements.size() || sizeof(T) != size_of(type)) {
    throw std::invalid_argument("zeroulp::make_array: shape or type differs");
  }
  array result{type, std::move(shape), {}};
  result.data.resize(elements.size_bytes());
  if (count != 0) {
    std::memcpy(result.data.data(), elements.data(), elements.size_bytes());
  }
  return result;
}

/// Returns the content of a regular file. Throws input_error.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Returns a view of `bytes`.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads one array; fortran_order is transposed to C order. Throws input_error
/// if the file is not exactly one array of a known type. Memory: the size of
/// the file, twice that for fortran_order.
array read_npy(const std::filesystem::path& path);

/// Parses the `bytes` of a file called `name` as read_npy does.
array parse_npy(std::vector<std::byte> bytes, std::string_view name);

/// Returns the version 1.0 header of `a`, padded to a multiple of 64 bytes.
/// Throws std::invalid_argument if data and shape disagree.
std::string npy_header(const array& a);

/// Writes `a` as a .npy file, completely or not at all. Throws input_error.
void write_npy(const std::filesystem::path& path, const array& a);

/// Files that appear together or not at all. add() writes to a temporary name
/// beside the target and flushes it to the disk; commit() renames them all.
/// Without commit(), or when anything fails, the set removes the temporaries
/// and the directories that it made, and older files stay as they were.
///
/// Every function throws input_error with the path and the system's reason.
/// After a crash of the machine each file is complete, old or new; the set is
/// not one transaction. A process that SIGKILL ends before commit() leaves
/// `.zeroulp-*` files, which the next set that writes to that folder removes.
/// Before other signals end a process, call abandon_all(), as the program does.
class output_set {
 public:
  /// Names given to add() are complete paths.
  output_set();
  /// Names given to add() are inside `directory`, made if it is absent.
  explicit output_set(std::filesystem::path directory);
  output_set(const output_set&) = delete;
  output_set& operator=(const output_set&) = delete;
  ~output_set();

  /// Throws, as add() would, if a name is taken by something that the set
  /// cannot replace: not a regular file, or not writable. For callers that work
  /// long before they call add().
  void expect(std::initializer_list<std::filesystem::path> names) const;

  void add(const std::filesystem::path& name, std::string_view content);
  /// The parts one after the other, none of them copied.
  void add(const std::filesystem::path& name,
           std::span<const std::string_view> parts);
  void add(const std::filesystem::path& name, const array& a);
  void commit();

  /// Undoes all that is not committed. For a signal handler that blocks all
  /// signals and ends the process; no set can be used afterwards.
  static void abandon_all() noexcept;

 private:
  struct entry;
  /// Returns a descriptor; the file is the last entry's.
  int open_temporary(const std::filesystem::path& path,
                     const std::filesystem::path& target);
  // Called with all signals blocked.
  void place(entry& e);
  void fail() noexcept;
  void rollback() noexcept;
  void undo() const noexcept;

  std::filesystem::path directory_;
  std::vector<std::filesystem::path> made_;
  std::vector<entry> entries_;
  bool failed_ = false;
};

}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_IO_HPP_
