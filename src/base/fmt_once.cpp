// The functions of {fmt} 9, compiled once for all that formats, as {fmt}'s own
// library is: Debian has that as a shared library alone, and the program is to
// need none. Weak, to give way to the {fmt} of a program that links this.

#include <fmt/format.h>

#ifndef FMT_HEADER_ONLY
#undef FMT_FUNC
#define FMT_FUNC __attribute__((weak))
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto thousands_sep_impl<char>(locale_ref)
    -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template auto dragonbox::to_decimal(float) noexcept
    -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept
    -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view,
                         basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace fmt::detail
#endif
