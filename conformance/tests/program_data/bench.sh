# bench: what it measures is the machine's; here that it measures everything and
# holds it against the core.

shows bench_prints_a_table '^pack\.e5m6 .* Gelement/s +1' bench pack --quick
shows bench_shows_the_peer_and_the_ratio '^ratio\.retile\.e4m3:core .* x' \
  bench retile --quick
# Peers that are not here are named on stderr.
timeout 120 "$program" bench --quick --json >.out 2>.err
is bench_of_everything_holds 0 $?
is bench_says_only_what_is_absent '' "$(grep -v '^absent: ' .err)"
holds bench_json_is_a_list_of_figures python3 -c '
import json
rows = json.load(open(".out"))
names = {row["name"] for row in rows}
for name in """gemm.hopper_fp8 gemm.promoted_1x128_128x128 gemm.exact
    gemm.layer_4096x7168x2048 encode.fp32.e4m3 encode.fp32.e4m3:core
    encode.bf16.e5m6 decode.e4m3.fp32 sweep.fp32.e4m3 quantize.1x128
    quantize.128x1.bf16 quantize.128x128.vllm dequantize.1x128
    dequantize.128x128.bf16 dequantize.128x128.bf16.via_fp32 retile.e4m3
    pack.e5m6 ratio.promoted_over_unpromoted""".split():
    assert name in names, name
for row in rows:
    assert row["unit"] and row["threads"] >= 1, row
    assert 0 <= row["min"] <= row["value"] <= row["max"], row'
export OMP_NUM_THREADS=1
run 0 bench gemm.exact --quick --json
holds bench_obeys_the_number_of_threads python3 -c \
  'import json; assert all(r["threads"] == 1 for r in json.load(open(".out")))'
unset OMP_NUM_THREADS
run 0 bench gemm.exact --quick --json --simd portable
holds bench_uses_the_instructions_asked_for \
  grep -q '"simd": "portable"' .out
run 0 bench pack --record perf.json
holds bench_record_says_what_it_follows_from python3 -c 'import json
r = json.load(open("perf.json"))
assert r["command"] == "zeroulp bench pack" and r["depends_on"] == "library", r
assert len(r["sources"]) > 50 and any("src/" in s for s in r["sources"]), r
assert r["platform"]["compiler"] and r["rows"][0]["unit"] and r["program"], r'
is bench_record_is_fresh 'fresh perf' \
  "$(sh "$here/../records/check.sh" perf.json)"
refuses bench_records_no_quick_run 'excludes' \
  bench pack --quick --record quick.json
holds refused_records_are_not_written test ! -e quick.json
refuses bench_refuses_an_unknown_name "'x'.*gemm.hopper_fp8, " bench x
# Where there is no GPU part, no name is looked at, and no GPU.
refuses bench_gpu_refuses_an_unknown_name \
  "'x'.*gemm.interval, |this build has no GPU part: .*-DZEROULP_CUDA=ON" \
  bench gpu x
refuses bench_gpu_refuses_an_unknown_name_beside_a_known_one \
  "'x'.*attention.forward, |this build has no GPU part: .*-DZEROULP_CUDA=ON" \
  bench gpu attention x
refuses bench_refuses_unknown_instructions "'sse': here it can be portable" \
  bench pack --simd sse
