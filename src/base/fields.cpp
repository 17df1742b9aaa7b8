#include "src/base/fields.hpp"

#include <mutex>
#include <set>

namespace zeroulp {

const char* kept_name(std::string name) {
  static std::mutex one_at_a_time;
  static std::set<std::string> all;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  return all.insert(std::move(name)).first->c_str();
}

}  // namespace zeroulp
