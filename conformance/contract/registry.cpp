#include "conformance/contract/registry.hpp"

#include <exception>
#include <new>
#include <system_error>

#include "conformance/checks/model/model_functions.hpp"
#include "conformance/contract/call_failure.hpp"

namespace zeroulp::conformance {

check_list all_checks() {
  check_list all;
  for (const auto& list :
       {convert_checks(), arithmetic_checks(), step_checks(), quantize_checks(),
        division_checks(), retile_checks(), gemm_checks(), case_checks(),
        vector_checks(), training_checks(), model_checks()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

verdict run_check(const check& c, const implementation& i, const effort& e) {
  verdict v;
  const auto fail = [&v](const std::string& why) {
    v = {};
    v.count(false, [&] { return why; });
  };
  try {
    v = c.run(i, e);
    if (v.cases == 0 && v.skipped.empty() && v.vacuous.empty()) {
      fail("there was no case");
    }
  } catch (const std::bad_alloc&) {
    throw;  // nothing was found, right or wrong
  } catch (const std::system_error&) {
    throw;
  } catch (const no_process&) {
    throw;
  } catch (const std::exception& error) {
    fail(std::string("threw: ") + error.what());
  }
  return v;
}

}  // namespace zeroulp::conformance
