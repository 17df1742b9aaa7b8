// A quantizer in CUDA as somebody would write it who never saw zeroulp, and
// what it takes to have it held: the last fifteen lines.
//
//   nvcc -std=c++20 -arch=sm_90a -shared -Xcompiler -fPIC -cudart shared
//   -o plugin_cuda.so plugin_cuda.cu -I../../include
//   zeroulp conform --plugin ./plugin_cuda.so
//
// It claims no convention; zeroulp finds out which it follows.

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <zeroulp/plugin.h>

namespace {

constexpr int tile = 128;

/// A warp a tile: its scale, and the E4M3 codes of its elements.
__global__ void quantize_tiles(const __nv_bfloat16* x, __nv_fp8_e4m3* codes,
                               float* scales, int rows, int cols) {
  const int tiles = (cols + tile - 1) / tile;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (warp >= rows * tiles) return;
  const int row = warp / tiles;
  const int begin = warp % tiles * tile;
  const int end = min(begin + tile, cols);
  float amax = 1e-10f;
  for (int j = begin + lane; j < end; j += 32) {
    amax = fmaxf(amax, fabsf(__bfloat162float(x[row * cols + j])));
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    amax = fmaxf(amax, __shfl_xor_sync(0xffffffff, amax, apart));
  }
  const float scale = amax / 448.0f;
  if (lane == 0) scales[warp] = scale;
  for (int j = begin + lane; j < end; j += 32) {
    const float v = __bfloat162float(x[row * cols + j]) / scale;
    codes[row * cols + j] = __nv_fp8_e4m3(fminf(fmaxf(v, -448), 448));
  }
}

int32_t quantize(const zeroulp_plugin_quantize* r) {
  const int rows = static_cast<int>(r->x.rows);
  const int cols = static_cast<int>(r->x.cols);
  const int warps = rows * ((cols + tile - 1) / tile);
  quantize_tiles<<<(warps + 3) / 4, 128>>>(
      static_cast<const __nv_bfloat16*>(r->x.data),
      static_cast<__nv_fp8_e4m3*>(r->codes.data),
      static_cast<float*>(r->scales.data), rows, cols);
  return ZEROULP_PLUGIN_DONE;
}

const zeroulp_plugin_claim claims[] = {
    {ZEROULP_PLUGIN_QUANTIZE, nullptr,
     "from=bf16,to=e4m3,scale=fp32,group=1x128,place=dense"}};
const zeroulp_plugin mine = {ZEROULP_PLUGIN_VERSION,
                             sizeof mine,
                             "cuda",
                             ZEROULP_PLUGIN_ON_DEVICE,
                             1,
                             claims,
                             quantize};

}  // namespace

const zeroulp_plugin* zeroulp_plugin_table() { return &mine; }
