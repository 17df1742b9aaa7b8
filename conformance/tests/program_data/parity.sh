# parity: two dumps of a pass.

npy normal px.npy 128x256 1
npy normal pw.npy 128x256 2
run 0 quantize pw.npy --group 128x128 --out pw
run 0 quantize px.npy --group 1x128 --out pq_a
run 0 quantize px.npy --group 1x128 --scale pow2 --out pq_b
for side in a b; do
  mkdir dump_$side
  cp px.npy dump_$side/x.npy
  cp pw/codes.npy dump_$side/w.npy
  cp pw/scales.npy dump_$side/w.scale.npy
  cp pq_$side/codes.npy dump_$side/q.npy
  cp pq_$side/scales.npy dump_$side/q.scale.npy
  run 0 gemm pq_$side pw --recipe deepgemm.1d2d --out dump_$side/d.npy
  verdict "parity_has_a_pass_of_$side" "$reason"
done
cat >pass.json <<'END'
{"operators": [
 {"name": "quantize", "is": "quantize", "with": "from=fp32,group=1x128",
  "reads": {"x": "x"}, "makes": {"codes": "q", "scales": "q.scale"}},
 {"name": "up", "is": "gemm", "with": "recipe=deepgemm.1d2d",
  "reads": {"a": "q", "a_scales": "q.scale", "b": "w", "b_scales": "w.scale"},
  "makes": {"d": "d"}}]}
END
shows parity_certifies_equal_passes '^equal: 2 operators, 49408 elements' \
  parity dump_a dump_a --chain pass.json
run 1 parity dump_a dump_b --chain pass.json --out parity.html
for line in 'first tensor that differs: q$' \
  'first rule that differs: operator quantize: A as claimed, B .*pow2' \
  "B's rules together make 100.0 % of the difference" 'up +gemm +inherited'; do
  [ -n "$reason" ] || grep -qE "$line" .out || reason="no '$line' in: $out"
done
verdict parity_names_the_rule "$reason"
holds parity_writes_a_page grep -q 'inherited' parity.html
run 1 parity dump_a dump_b --chain pass.json --json
cp .out parity.json
holds parity_json_parses python3 -S -E -c '
import json
r = json.load(open("parity.json"))
assert r["first_rule"] == "quantize" and r["share_of_all_rules"] == 1
assert [o["state"] for o in r["operators"]] == ["differs", "inherited"]'
mv dump_b/q.npy dump_b/codes.npy
refuses parity_names_a_tensor_that_is_missing "no tensor 'q'" \
  parity dump_a dump_b --chain pass.json
echo '{"q": "codes"}' >map.json
run 1 parity dump_a dump_b --chain pass.json --map map.json
verdict parity_takes_other_names "$reason"
echo '{"q": 3}' >map.json
refuses parity_refuses_a_map_without_names "map.json: 'q' is 3" \
  parity dump_a dump_b --chain pass.json --map map.json
sed 's/deepgemm.1d2d/deepgem/' pass.json >bad.json
refuses parity_names_the_operator "operator 2: unknown recipe 'deepgem'" \
  parity dump_a dump_a --chain bad.json
sed 's/"reads": {"x": "x"}/"reads": {"y": "x"}/' pass.json >bad.json
refuses parity_names_operands "bad.json: operator 1: quantize reads no 'y'" \
  parity dump_a dump_a --chain bad.json
refuses parity_needs_a_chain 'no_chain.json' \
  parity dump_a dump_a --chain no_chain.json
refuses parity_needs_dumps 'no_dump' parity no_dump dump_a --chain pass.json
