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
first_on_its_page parity_page_has_verdicts_first parity.html \
  '<span class="badge bad">differs</span></td><td>quantize</td>'
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
# Two packages' quantizers, of which the chain claims neither; and one of them.
run 0 quantize px.npy --convention transformer_engine --out te
run 0 quantize px.npy --convention vllm --out vllm
for side in te vllm; do
  mkdir "pair_$side"
  cp px.npy "pair_$side/x.npy"
  cp $side/codes.npy "pair_$side/q.npy"
  cp $side/scales.npy "pair_$side/q.scale.npy"
done
quantizer() {  # quantizer SETTINGS: a chain of one quantizer
  printf '{"operators": [{"name": "quantize", "is": "quantize", "with": "%s", %s}]}' \
    "from=fp32,group=1x128$1" '"reads": {"x": "x"}, "makes": {"codes": "q", "scales": "q.scale"}'
}
quantizer ,convention=deepep >pair.json
run 1 parity pair_te pair_vllm --chain pair.json
for line in 'A .*transformer_engine, scales pow2' 'B .*vllm, scales fp32'; do
  [ -n "$reason" ] || grep -qE "$line" .out || reason="no '$line' in: $out"
done
verdict parity_names_two_packages "$reason"
quantizer ,convention=transformer_engine,scale=pow2 >pair.json
run 1 parity pair_te pair_vllm --chain pair.json
[ -n "$reason" ] ||
  grep -qE 'quantize: A as claimed, B .*vllm, scales fp32' .out || reason=$out
verdict parity_holds_a_claim "$reason"
# Layers: heads that are not rotated, by the program's own rope (N4), and ties.
npy write rx.npy '<u2' 8x64 0x3f80 0xbf00 0x4010 0x3e9a 0xbfc3 0x3f11 0x4050
run 0 operator rope x=rx.npy heads=2 y=ry.npy
run 0 operator rope x=rx.npy heads=2 pairs=halves y=rh.npy
npy write logits.npy '<f4' 8x4 1 2 2 -1
run 0 operator route logits=logits.npy top=1 experts=e.npy weights=rw.npy
for side in a b; do
  mkdir rope_$side
  for i in 0 1; do
    cp rx.npy rope_$side/x$i.npy
    cp ry.npy rope_$side/y$i.npy
    cp logits.npy rope_$side/z$i.npy
    cp e.npy rope_$side/e$i.npy
  done
done
cat >layers.json <<'END'
{"operators": [{"repeat": 2, "operators": [
 {"name": "rope{i}", "is": "rope", "with": "heads=2,from=bf16,value=bf16",
  "reads": {"x": "x{i}"}, "makes": {"y": "y{i}"}},
 {"name": "route{i}", "is": "route", "reads": {"logits": "z{i}"},
  "makes": {"experts": "e{i}"}}]}]}
END
shows parity_repeats_layers '^equal: 4 operators' \
  parity rope_a rope_b --chain layers.json
cp rh.npy rope_b/y1.npy
run 1 parity rope_a rope_b --chain layers.json
[ -n "$reason" ] || grep -q 'operator rope1: A as claimed, B pairs halves' .out ||
  reason=$out
verdict parity_names_the_pairs_of_rope "$reason"
cp ry.npy rope_b/y1.npy
npy write rope_b/e1.npy '<u4' 8x1 2
run 1 parity rope_a rope_b --chain layers.json
[ -n "$reason" ] || grep -q 'operator route1: A as claimed, B .*route_ties_last' .out ||
  reason=$out
verdict parity_names_a_tie "$reason"
# K in two ranges, of 512 each (G7), against one.
npy normal kx.npy 32x1024 3
npy normal kw.npy 128x1024 4
run 0 quantize kx.npy --out kq
run 0 quantize kw.npy --group 128x128 --out kw
for splits in 1 2; do
  mkdir sum_$splits
  for which in q w; do
    cp k$which/codes.npy sum_$splits/$which.npy
    cp k$which/scales.npy sum_$splits/$which.scale.npy
  done
  run 0 gemm kq kw --output fp32 --splits $splits --out sum_$splits/d.npy
done
sed 's/^ {"name": "quantize".*//; s/^  "reads": {"x".*//' pass.json >sum.json
run 1 parity sum_1 sum_2 --chain sum.json
for line in 'operator up: A as claimed, B splits 2' \
  '^the difference is only the order of sums$'; do
  [ -n "$reason" ] || grep -qE "$line" .out || reason="no '$line' in: $out"
done
verdict parity_says_only_the_order_of_sums "$reason"
sed 's/"repeat": 2/"repeat": 0/' layers.json >bad.json
refuses parity_refuses_no_layers "bad.json: operator 1: 'repeat' is 0" \
  parity rope_a rope_b --chain bad.json
sed 's/heads=2/heads=3/' layers.json >bad.json
cp rh.npy rope_b/y1.npy
refuses parity_refuses_heads_that_do_not_fit "operator 'rope0'.*64 columns" \
  parity rope_a rope_b --chain bad.json
# Equality has digests that other programs say, too; of nothing there is none.
run 0 checkpoint hash dump_a
digest=$(awk '$1 == "d" || $2 == "d"' .out | grep -oE '[0-9a-f]{64}' | head -1)
run 0 parity dump_a dump_a --chain pass.json
[ -n "$digest" ] && grep -q "^d  *[A-Z0-9]*  *$digest" .out ||
  reason="no '$digest' in: $(cat .out)"
verdict parity_says_the_digests_of_checkpoint_hash "$reason"
run 0 parity dump_a dump_a --chain pass.json --out equal.html
holds parity_says_digests_on_its_page grep -q "$digest" equal.html
mkdir none
npy write none/x.npy '<f4' 0x8
cp none/x.npy none/r.npy
cp none/x.npy none/y.npy
echo '{"operators": [{"name": "add", "is": "residual",
  "reads": {"x": "x", "r": "r"}, "makes": {"y": "y"}}]}' >add.json
refuses parity_of_nothing_is_not_equal '0 elements: nothing was compared' \
  parity none none --chain add.json
# A page over what is read, or where no folder is.
cp pass.json kept.json
for page in pass.json dump_a/x.npy map.json; do
  echo '{"q": "codes"}' >map.json
  cp map.json map.kept
  refuses "parity_writes_no_page_over_$(basename $page)" 'is read here' \
    parity dump_a dump_b --chain pass.json --map map.json --out $page
done
holds parity_left_its_inputs sh -c 'cmp pass.json kept.json &&
  cmp map.json map.kept && cmp dump_a/x.npy px.npy'
refuses parity_needs_the_folder_of_a_page 'there is no folder nowhere' \
  parity dump_a dump_a --chain pass.json --out nowhere/page.html
refuses parity_takes_groups_of_rows '--rows 100: use a multiple of 128' \
  parity dump_a dump_a --chain pass.json --rows 100
# Mistakes in what a person wrote.
refuses_chain() {  # refuses_chain NAME MESSAGE TEXT
  printf '%s' "$3" >bad.json
  refuses "parity_refuses_$1" "$2" parity dump_a dump_a --chain bad.json
}
refuses_chain text_that_is_no_json 'bad.json: line 2, column 2: is no JSON' \
  '{"operators":
 oops}'
refuses_chain a_key_twice "bad.json: 'operators' is given twice" \
  '{"operators": [], "operators": []}'
refuses_chain an_unknown_key "bad.json: 'layers': use operators alone" \
  '{"operators": [{}], "layers": 2}'
refuses_chain an_empty_name "bad.json: operator 1: 'name' is empty" \
  '{"operators": [{"name": "", "is": "rope", "reads": {"x": "x"}, "makes": {"y": "d"}}]}'
refuses_chain an_unknown_output "bad.json: operator 1: rope makes no 'z'" \
  '{"operators": [{"name": "r", "is": "rope", "reads": {"x": "x"}, "makes": {"z": "d"}}]}'
echo '{"Q": "codes"}' >map.json
refuses parity_refuses_a_name_that_nobody_uses \
  "map.json: the chain has no tensor 'Q'" \
  parity dump_a dump_a --chain pass.json --map map.json
shows parity_lists_operators '^combine$' parity --operators
# Positions: a vector, two that are far apart, a table that ends before them.
mkdir pos_a pos_b
cp rx.npy pos_a/x.npy
cp ry.npy pos_a/y.npy
cp rh.npy pos_b/y.npy
npy write pos_a/p.npy '<i4' 8 0 1 2 3 4 5 6 7
cp pos_a/x.npy pos_a/p.npy pos_b
echo '{"operators": [{"name": "rope", "is": "rope",
  "with": "heads=2,from=bf16,value=bf16",
  "reads": {"x": "x", "positions": "p"}, "makes": {"y": "y"}}]}' >pos.json
run 1 parity pos_a pos_b --chain pos.json
[ -n "$reason" ] || grep -q 'operator rope: A as claimed, B pairs halves' .out ||
  reason=$(cat .out)
verdict parity_takes_a_vector_of_positions "$reason"
for side in pos_a pos_b; do
  npy write $side/p.npy '<i4' 8 0 1 2 3 4 5 6 1048576
done
run 1 parity pos_a pos_b --chain pos.json
[ -n "$reason" ] || grep -q 'operator rope: A unknown' .out || reason=$(cat .out)
verdict parity_takes_positions_far_apart "$reason"
for side in pos_a pos_b; do
  npy write $side/p.npy '<i4' 8 0 1 2 3 4 5 6 7
  npy write $side/c.npy '<f4' 4x16 1
  cp $side/c.npy $side/s.npy
done
sed 's/"positions": "p"/&, "cosines": "c", "sines": "s"/' pos.json >table.json
refuses parity_refuses_a_table_that_ends \
  "operator 'rope', pos_a: cosines has 4 rows, none for position 4" \
  parity pos_a pos_b --chain table.json
# Slots without columns, and of rows that are not there.
mkdir slots_a slots_b
npy write slots_a/x.npy '<u2' 4x128 0x3f80
npy write slots_a/s.npy '<i4' 2x2 0 1 -1 7
npy write slots_a/y.npy '<u2' 2x128 0x3f80
cp slots_a/*.npy slots_b
npy write slots_b/y.npy '<u2' 2x128 0x4000
echo '{"operators": [{"name": "sum", "is": "combine",
  "reads": {"x": "x", "slots": "s"}, "makes": {"sums": "y"}}]}' >slots.json
refuses parity_refuses_a_slot_of_no_row \
  'slots.1, 1. is row 7 of x, which has 4' \
  parity slots_a slots_b --chain slots.json
for side in slots_a slots_b; do npy write $side/s.npy '<i4' 2x0; done
refuses parity_refuses_slots_without_columns 'slots is 2x0: it has no columns' \
  parity slots_a slots_b --chain slots.json
# One number stored in two types.
mkdir type_a type_b
npy write type_a/x.npy '<f4' 2x2 1 2.1
npy write type_a/r.npy '<f4' 2x2 0
npy write type_a/y.npy '<f4' 2x2 1 2.1
cp type_a/x.npy type_a/r.npy type_b
npy write type_b/y.npy '<f2' 2x2 1 2.1
run 1 parity type_a type_b --chain add.json
for line in 'first tensor that differs: y (F32 in A, F16 in B)' \
  'first rule that differs: operator add: A y as fp32, B y as fp16'; do
  [ -n "$reason" ] || grep -qF "$line" .out || reason="no '$line' in: $(cat .out)"
done
verdict parity_names_two_types "$reason"
