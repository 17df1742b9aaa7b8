// Requests that SwiGLU and RMSNorm must refuse before they launch a kernel:
// good requests, which are served, each changed in one place.

#include "conformance/device/support/altered_requests.hpp"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr quantizer fused{
    bf16, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}};

struct forward_request {
  swiglu_layer layer{fused, fused};
  matrix g, u, h;
  quantized h_out, g_cache, u_cache;

  explicit forward_request(char* at)
      : g(numbers_at(at, 0)),
        u(numbers_at(at, 1)),
        h(numbers_at(at, 2)),
        h_out(codes_at(at, 3)),
        g_cache(codes_at(at, 4)),
        u_cache(codes_at(at, 5)) {}
  void run() const {
    cuda::swiglu_forward(layer, g, u, h, h_out, g_cache, u_cache);
  }
  void make_no_codes() { h_out = g_cache = u_cache = {}; }
  static quantizer& out(forward_request& r) { return r.layer.out; }
  static quantizer& cache(forward_request& r) { return r.layer.cache; }
};

struct backward_request {
  swiglu_layer layer{fused, fused};
  format from = bf16;
  matrix dh, h, dg, du;
  quantized g_cache, u_cache, dg_out, du_out;

  explicit backward_request(char* at)
      : dh(numbers_at(at, 0)),
        h(numbers_at(at, 1)),
        dg(numbers_at(at, 2)),
        du(numbers_at(at, 3)),
        g_cache(codes_at(at, 4)),
        u_cache(codes_at(at, 5)),
        dg_out(codes_at(at, 6)),
        du_out(codes_at(at, 7)) {}
  void run() const {
    cuda::swiglu_backward(layer, from, dh, {g_cache.codes, g_cache.scales},
                          {u_cache.codes, u_cache.scales}, h, dg, du, dg_out,
                          du_out);
  }
  void make_no_codes() { dg_out = du_out = {}; }
  static quantizer& out(backward_request& r) { return r.layer.out; }
  static quantizer& cache(backward_request& r) { return r.layer.cache; }
};

struct norm_request {
  rms_layer layer{bf16, bf16, 0, fused};
  matrix x, w, y;
  matrix_view<std::uint32_t> rstd;
  quantized codes;

  explicit norm_request(char* at)
      : x(numbers_at(at, 0)),
        w(at + request_room, 1, request_cols),
        y(numbers_at(at, 2)),
        rstd(reinterpret_cast<std::uint32_t*>(at + 3 * request_room),
             request_rows, 1),
        codes(codes_at(at, 4)) {}
  void run() const { cuda::rms_norm(layer, x, w, y, rstd, codes); }
  void make_no_codes() { codes = {}; }
  static quantizer& out(norm_request& r) { return r.layer.out; }
};

verdict swiglu_forward_requests(const effort&) {
  using request = forward_request;
  altered_requests<request> all;
  all.no_input("g", &request::g);
  all.no_input("u", &request::u);
  all.no_numbers("h", &request::h);
  all.no_output("h quantized", &request::h_out, request::out);
  all.no_output("the cache of g", &request::g_cache, request::cache);
  all.no_output("the cache of u", &request::u_cache, request::cache);
  for (const format f : {e4m3, ue8m0, fp64}) {
    all.no("g and u of no number", [f](request& r) {
      r.make_no_codes();
      r.layer.cache.from = f;
    });
    all.no("h of no number", [f](request& r) {
      r.make_no_codes();
      r.layer.out.from = f;
    });
  }
  for (const format f : {fp32, fp16}) {
    all.no("h quantized of other inputs", [f](request& r) {
      r.g_cache = r.u_cache = {};
      r.layer.cache.from = f;
    });
    all.no("caches beside another h", [f](request& r) {
      r.h_out = {};
      r.layer.out.from = f;
    });
  }
  all.no("nothing to write", [](request& r) {
    r.make_no_codes();
    r.h.data = nullptr;
  });
  for (const format f : {bf16, fp32}) {
    all.no("too many rows", [f](request& r) {
      r.make_no_codes();
      r.layer.cache.from = f;
      r.g = r.u = r.h = codes(huge, 2);
    });
  }

  all.yes("everything", [](request&) {});
  all.yes("no h", [](request& r) { r.h = {}; });
  all.yes("h alone", [](request& r) {
    r.make_no_codes();
    r.layer.out.to = r.layer.cache.to = bf16;
    r.layer.out.group = r.layer.cache.group = {0, 0};
  });
  for (const format from : {fp32, bf16, fp16}) {
    for (const format to : {fp32, bf16, fp16}) {
      all.yes("h alone, of any numbers", [from, to](request& r) {
        r.make_no_codes();
        r.layer.cache.from = from;
        r.layer.out.from = to;
      });
    }
  }
  all.yes("h quantized, any caches that are not made", [](request& r) {
    r.g_cache = r.u_cache = {};
    r.layer.cache.to = bf16;
    r.layer.cache.group = {128, 128};
  });
  all.yes("caches, any h that is not quantized", [](request& r) {
    r.h_out = {};
    r.layer.out.to = bf16;
    r.layer.out.group = {128, 128};
  });
  all.yes("no rows, nothing to write", [](request& r) {
    r.make_no_codes();
    r.h = {};
    r.g.rows = r.u.rows = 0;
  });
  return all.v;
}

verdict swiglu_backward_requests(const effort&) {
  using request = backward_request;
  altered_requests<request> all;
  all.no_input("dh", &request::dh);
  all.no_cache("the cache of g", &request::g_cache, request::cache);
  all.no_cache("the cache of u", &request::u_cache, request::cache);
  all.no_numbers("h", &request::h);
  all.no_numbers("dg", &request::dg);
  all.no_numbers("du", &request::du);
  all.no_output("dg quantized", &request::dg_out, request::out);
  all.no_output("du quantized", &request::du_out, request::out);
  for (const format f : {e4m3, ue8m0, fp64}) {
    all.no("dh of no number", [f](request& r) {
      r.make_no_codes();
      r.from = f;
    });
    all.no("dg of no number", [f](request& r) {
      r.make_no_codes();
      r.layer.out.from = f;
    });
  }
  for (const format f : {fp32, fp16}) {
    all.no("codes of another dh", [f](request& r) { r.from = f; });
  }
  for (const group_shape g : {group_shape{128, 128}, group_shape{1, 0}}) {
    all.no("codes from other caches",
           [g](request& r) { r.layer.cache.group = g; });
  }
  all.no("gradients without dh", [](request& r) {
    r.make_no_codes();
    r.dh.data = nullptr;
  });
  all.no("codes of gradients without dh", [](request& r) {
    r.h = r.dg = r.du = {};
    r.dh.data = nullptr;
  });
  all.no("nothing to write", [](request& r) {
    r.make_no_codes();
    r.h = r.dg = r.du = {};
  });
  for (const format f : {bf16, fp32}) {
    all.no("too many rows", [f](request& r) {
      r.make_no_codes();
      r.from = f;
      r.dh = r.h = r.dg = r.du = codes(huge, 2);
      r.g_cache.codes = r.u_cache.codes = r.dh;
    });
  }

  all.yes("everything", [](request&) {});
  all.yes("no numbers", [](request& r) { r.h = r.dg = r.du = {}; });
  all.yes("no h", [](request& r) { r.h = {}; });
  all.yes("h without dh", [](request& r) {
    r.make_no_codes();
    r.dg = r.du = {};
    r.dh.data = nullptr;
  });
  all.yes("h alone", [](request& r) {
    r.make_no_codes();
    r.dg = r.du = {};
  });
  for (const format from : {fp32, bf16, fp16}) {
    for (const format to : {fp32, bf16, fp16}) {
      all.yes("any numbers, no codes", [from, to](request& r) {
        r.make_no_codes();
        r.from = from;
        r.layer.out.from = to;
      });
    }
  }
  for (const group_shape g :
       {group_shape{128, 128}, group_shape{1, 0}, group_shape{0, 0}}) {
    all.yes("other caches, no codes", [g](request& r) {
      r.make_no_codes();
      r.layer.cache.group = g;
      r.layer.out.to = bf16;
      r.layer.out.group = {0, 0};
    });
  }
  all.yes("no rows, nothing to write", [](request& r) {
    r.make_no_codes();
    r.h = r.dg = r.du = {};
    r.dh.rows = r.g_cache.codes.rows = r.u_cache.codes.rows = 0;
  });
  return all.v;
}

verdict rms_norm_requests(const effort&) {
  using request = norm_request;
  altered_requests<request> all;
  all.no_input("x", &request::x);
  all.no_input("w", &request::w);
  all.no_numbers("y", &request::y);
  all.no_output("y quantized", &request::codes, request::out);
  for (const format f : {e4m3, ue8m0, fp64}) {
    for (format rms_layer::*const of : {&rms_layer::from, &rms_layer::weight}) {
      all.no("x or w of no number", [&](request& r) {
        r.make_no_codes();
        r.layer.*of = f;
      });
    }
    all.no("y of no number", [f](request& r) {
      r.make_no_codes();
      r.layer.out.from = f;
    });
  }
  for (const format f : {fp32, fp16}) {
    all.no("codes of another x", [f](request& r) { r.layer.from = f; });
  }
  all.no("codes by w of fp16", [](request& r) { r.layer.weight = fp16; });
  all.no("two rows of w", [](request& r) { r.w.rows = 2; });
  all.no("rstd: a row less", [](request& r) { --r.rstd.rows; });
  all.no("rstd: two columns", [](request& r) { r.rstd.cols = 2; });
  all.no("rstd: no columns", [](request& r) { r.rstd.cols = 0; });
  all.no("rstd: misaligned", [](request& r) {
    r.rstd.data = reinterpret_cast<std::uint32_t*>(nowhere() + 2);
  });
  for (const int stride : {0, -1}) {
    all.no("rstd: overlapping",
           [stride](request& r) { r.rstd.row_stride = stride; });
  }
  all.no("nothing to write", [](request& r) {
    r.make_no_codes();
    r.y = {};
    r.rstd = {};
  });
  for (const format f : {bf16, fp32}) {
    all.no("too many rows", [f](request& r) {
      r.make_no_codes();
      r.layer.from = f;
      r.x = r.y = codes(huge, 2);
      r.w = codes(1, 2);
      r.rstd = {};
    });
  }

  all.yes("everything", [](request&) {});
  all.yes("w of fp32", [](request& r) { r.layer.weight = fp32; });
  all.yes("codes alone", [](request& r) { r.y = {}, r.rstd = {}; });
  all.yes("rstd alone", [](request& r) {
    r.make_no_codes();
    r.y = {};
    r.layer.out.to = bf16;
    r.layer.out.group = {0, 0};
  });
  for (const format from : {fp32, bf16, fp16}) {
    for (const format weight : {fp32, bf16, fp16}) {
      all.yes("any numbers, no codes", [from, weight](request& r) {
        r.make_no_codes();
        r.layer.from = r.layer.out.from = from;
        r.layer.weight = weight;
      });
    }
  }
  all.yes("no rows, nothing to write", [](request& r) {
    r.make_no_codes();
    r.x.rows = 0;
    r.y = {};
    r.rstd = {};
  });
  return all.v;
}

}  // namespace

check_list fused_refusal_checks() {
  return {device_check("kernel.swiglu_forward.refusals", "S2", "definition",
                       swiglu_forward_requests),
          device_check("kernel.swiglu_backward.refusals", "S3", "definition",
                       swiglu_backward_requests),
          device_check("kernel.rms_norm.refusals", "S4 S5", "definition",
                       rms_norm_requests)};
}

}  // namespace zeroulp::conformance::device
