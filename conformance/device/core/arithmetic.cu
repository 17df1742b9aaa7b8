// Arithmetic on the device against the host: SPEC clause A.

#include "conformance/device/support/arithmetic_operands.hpp"
#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

struct named_operation {
  const char* name;
  operation value;
};

constexpr named_operation operations[] = {
    {"add", operation::add},           {"subtract", operation::subtract},
    {"multiply", operation::multiply}, {"fma", operation::fma},
    {"divide", operation::divide},     {"square_root", operation::square_root},
};

struct arithmetic_case {
  format f;
  operation what;
  rounding mode;
  std::uint64_t seed;

  ZEROULP_HD std::uint32_t operator()(std::uint64_t i) const {
    return static_cast<std::uint32_t>(
        result(random_operands(f, seed, i), rounder_of(i)));
  }

  std::string describe(std::uint64_t i) const {
    const operands x = random_operands(f, seed, i);
    return name_of(f) + ", " + std::string(name_of(mode)) +
           in_hex("random bits", rounder_of(i).random) + in_hex("a", x.a) +
           in_hex("b", x.b) + in_hex("c", x.c);
  }

 private:
  ZEROULP_HD rounder rounder_of(std::uint64_t i) const {
    return {mode, static_cast<std::uint32_t>(mix64(i))};
  }

  ZEROULP_HD std::uint64_t result(const operands& x, rounder r) const {
    switch (what) {
      case operation::add:
        return add(f, x.a, x.b, r);
      case operation::subtract:
        return subtract(f, x.a, x.b, r);
      case operation::multiply:
        return multiply(f, x.a, x.b, r);
      case operation::fma:
        return fma(f, x.a, x.b, x.c, r);
      case operation::divide:
        return divide(f, x.a, x.b, r);
      case operation::square_root:
        break;
    }
    return square_root(f, x.a, r);
  }
};

verdict check_operation(operation what, const effort& e) {
  verdict total;
  for (const format f : {fp32, fp16, bf16}) {
    for (const auto& r : named_roundings) {
      total += same_bits(arithmetic_case{f, what, r.value, e.seed},
                         cases(e, 1 << 10, 1 << 20));
    }
  }
  return total;
}

}  // namespace

check_list core_arithmetic_checks() {
  check_list all;
  for (const auto& o : operations) {
    const operation what = o.value;
    all.push_back(device_check(
        std::string("core.arithmetic.") + o.name, "A1 A2 A3 A4 A5 A6", "host",
        [what](const effort& e) { return check_operation(what, e); }));
  }
  return all;
}

}  // namespace zeroulp::conformance::device
