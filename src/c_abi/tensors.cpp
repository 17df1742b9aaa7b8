// The C ABI: the table of a training step's tensors.

#include "src/base/fields.hpp"
#include "src/c_abi/c_abi.hpp"
#include "zeroulp/model_arm.hpp"
#include "zeroulp/zeroulp_model.h"

namespace zeroulp::c_abi {
namespace {

std::vector<tensor_row> table_of(const char* arm) {
  return tensor_table(parse_arm(&needed(arm, "arm")));
}

zeroulp_tensor tensor_to_c(const tensor_row& row) {
  const storage& how = row.how;
  return {kept_name(row.tensor),
          to_c(how.to),
          to_c(how.group),
          how.scaled ? 1 : 0,
          static_cast<std::int32_t>(how.scale),
          kept_name(row.made_from),
          kept_name(row.used_by)};
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_tensor_count(const char* arm, std::int64_t* count) {
  return guarded(__func__, [&] {
    const auto rows = table_of(arm);
    needed(count, "count") = std::ssize(rows);
  });
}

zeroulp_status zeroulp_tensor_at(const char* arm, std::int64_t index,
                                 zeroulp_tensor* tensor) {
  return guarded(__func__, [&] {
    const auto rows = table_of(arm);
    if (index < 0 || index >= std::ssize(rows)) {
      refuse("index is {}: use 0 to {}", index, std::ssize(rows) - 1);
    }
    needed(tensor, "tensor") =
        tensor_to_c(rows[static_cast<std::size_t>(index)]);
  });
}
