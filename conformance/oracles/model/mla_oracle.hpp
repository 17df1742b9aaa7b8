// Defines attention of MLA as SPEC N27 reads: by the oracle's products in
// integers, and its attention. A grid has BF16 codes.

#ifndef ZEROULP_CONFORMANCE_ORACLES_MODEL_MLA_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_MODEL_MLA_ORACLE_HPP_

#include "conformance/oracles/model_oracle.hpp"
#include "zeroulp/core/model/mla.hpp"

namespace zeroulp::oracle {

struct latent_tokens {
  grid q, latent, rope_key, up;
};
attended attend_latent(mla_order order, const mla_shape& s,
                       const latent_tokens& t);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_MODEL_MLA_ORACLE_HPP_
