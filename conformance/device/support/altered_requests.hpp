// Defines `altered_requests`: a good request, which must be served, and its
// versions with one change, which must be refused.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_ALTERED_REQUESTS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_ALTERED_REQUESTS_HPP_

#include "conformance/device/support/refusals.hpp"

namespace zeroulp::conformance::device {

/// The shape of the matrices of a good request.
inline constexpr std::ptrdiff_t request_rows = 100, request_cols = 200;
/// Bytes for one matrix with its scales, and for all of a request's.
inline constexpr std::ptrdiff_t request_room = 1 << 17;
inline constexpr std::size_t request_bytes = 8 * request_room;

inline matrix numbers_at(char* memory, int place) {
  return {memory + place * request_room, request_rows, request_cols};
}
inline quantized codes_at(char* memory, int place) {
  char* const at = memory + place * request_room;
  char* const scales = at + request_room / 4 * 3;
  return {{at, request_rows, request_cols},
          {reinterpret_cast<std::uint32_t*>(scales), 2}};
}

/// Requests of one function. Request(memory) is a good one: BF16 numbers, e4m3
/// codes, FP32 scales, groups of 1x128. Request::run() calls the function.
/// Request::make_no_codes() removes all outputs of codes.
template <class Request>
class altered_requests {
 public:
  verdict v;

  template <class Change>
  void no(const std::string& what, Change change) {
    Request r(nowhere());
    change(r);
    must_refuse(what.c_str(), v, [&] { r.run(); });
  }
  template <class Change>
  void yes(const std::string& what, Change change) {
    std::string heard;
    try {
      const device_buffer<char> memory(request_bytes);
      Request r(memory.data());
      change(r);
      r.run();
      finish_kernel();
    } catch (const std::exception& e) {
      heard = e.what();
    }
    v.count(heard.empty(), [&] { return what + ": " + heard; });
  }

  /// Alters a matrix of 16-bit numbers.
  void no_numbers(const std::string& name, matrix Request::*at) {
    const auto no_such = [&](const char* what, auto change) {
      no(name + ": " + what, [&](Request& r) { change(r.*at); });
    };
    no_such("misaligned",
            [](matrix& x) { x.data = static_cast<char*>(x.data) + 1; });
    no_such("a row less", [](matrix& x) { --x.rows; });
    no_such("a column less", [](matrix& x) { --x.cols; });
    no_such("negative rows", [](matrix& x) { x.rows = -1; });
    no_such("negative columns", [](matrix& x) { x.cols = -1; });
    no_such("a short stride", [](matrix& x) { --x.stride; });
    no_such("too large", [](matrix& x) { x.stride = huge << 20; });
  }
  void no_input(const std::string& name, matrix Request::*at) {
    no_numbers(name, at);
    no("null " + name, [&](Request& r) { (r.*at).data = nullptr; });
  }

  /// Alters codes of the layer's quantizer `by`, read or written.
  void no_codes(const std::string& name, quantized Request::*at,
                quantizer& (*by)(Request&)) {
    const auto no_such = without_others(name, at, by);
    using q = quantizer;
    no_such("of bf16", [](quantized&, q& to) { to.to = bf16; });
    no_such("of ue8m0", [](quantized&, q& to) { to.to = ue8m0; });
    no_such("misaligned", [](quantized& y, q& to) {
      to.to = e5m6;
      y.codes.data = static_cast<char*>(y.codes.data) + 1;
    });
    no_such("a row less", [](quantized& y, q&) { --y.codes.rows; });
    no_such("a column less", [](quantized& y, q&) { --y.codes.cols; });
    no_such("negative rows", [](quantized& y, q&) { y.codes.rows = -1; });
    no_such("a short stride", [](quantized& y, q&) { --y.codes.stride; });
    no_such("null scales", [](quantized& y, q&) { y.scales.data = nullptr; });
    no_such("misaligned scales", [](quantized& y, q&) {
      y.scales.data = reinterpret_cast<std::uint32_t*>(nowhere() + 2);
    });
    no_such("a short stride of scales",
            [](quantized& y, q&) { y.scales.stride = 1; });
    no_such("a stride below the layout's", [](quantized& y, q&) {
      y.scales = {y.scales.data, request_rows - 1, scale_layout::mn_major};
    });
    no_such("no layout", [](quantized& y, q&) {
      y.scales = {y.scales.data, request_rows, static_cast<scale_layout>(4)};
    });
    no_such("too many scales",
            [](quantized& y, q&) { y.scales.stride = huge << 20; });
  }
  void no_cache(const std::string& name, quantized Request::*at,
                quantizer& (*by)(Request&)) {
    no_codes(name, at, by);
    no("null " + name, [&](Request& r) { (r.*at).codes.data = nullptr; });
  }
  /// Alters codes that the function writes.
  void no_output(const std::string& name, quantized Request::*at,
                 quantizer& (*by)(Request&)) {
    no_codes(name, at, by);
    const auto no_such = without_others(name, at, by);
    using q = quantizer;
    no_such("from fp32", [](quantized&, q& to) { to.from = fp32; });
    no_such("from fp16", [](quantized&, q& to) { to.from = fp16; });
    for (const group_shape g : {group_shape{1, 32}, group_shape{1, 0},
                                group_shape{128, 128}, group_shape{0, 0}}) {
      no_such("other groups", [g](quantized&, q& to) { to.group = g; });
    }
    no_such("no kind",
            [](quantized&, q& to) { to.scale = static_cast<scale_kind>(5); });
    no_such("no rule of scales", [](quantized&, q& to) {
      to.how.scale = static_cast<scale_rule>(4);
    });
    no_such("no rule of elements", [](quantized&, q& to) {
      to.how.element = static_cast<element_rule>(5);
    });
    no_such("no rule of amaxes",
            [](quantized&, q& to) { to.how.amax = static_cast<amax_rule>(3); });
    no_such("ue8m0 for any scale", [](quantized& y, q&) {
      y.scales = {y.scales.data, request_rows, scale_layout::packed_ue8m0};
    });
    yes(name + ": alone, ue8m0 for powers of two", [&](Request& r) {
      keep_only(r, at);
      by(r).scale = scale_kind::pow2;
      auto& scales = (r.*at).scales;
      scales = {scales.data, request_rows, scale_layout::packed_ue8m0};
    });
  }

 private:
  auto without_others(const std::string& name, quantized Request::*at,
                      quantizer& (*by)(Request&)) {
    return [=, this](const char* what, auto change) {
      no(name + ": " + what, [&](Request& r) {
        keep_only(r, at);
        change(r.*at, by(r));
      });
    };
  }
  /// Removes all outputs of codes but `at`.
  static void keep_only(Request& r, quantized Request::*at) {
    const quantized y = r.*at;
    r.make_no_codes();
    r.*at = y;
  }
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_ALTERED_REQUESTS_HPP_
