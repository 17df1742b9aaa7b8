# formats, conventions, recipes, paths.

shows formats_example_of_its_help_works 'max .*65024' formats e5m6
shows conventions_example_of_its_help_works 'field +vllm +deepep' \
  conventions vllm --diff deepep
shows recipes_example_of_its_help_works fma \
  recipes deepgemm.1d2d --diff cublaslt.1x128_1x128
shows paths_example_of_its_help_works '^ada.mma.e4m3.e5m2.f16 ' \
  paths --gpu ada --type e4m3
shows paths_show_where_two_differ 'F +13 +25' \
  paths hopper.wgmma.e4m3.e4m3.f32 --diff hopper.wgmma.bf16.bf16.f32
shows arms_example_of_its_help_works '^dy .*e4m3.*e5m2' arms full --diff hybrid
shows sizes_example_of_its_help_works '^width +256 +2048' sizes T --diff bridge
run 0 formats
is formats_lists_15_formats 17 "$(wc -l <.out)"
run 0 conventions
is conventions_lists_23_conventions 25 "$(wc -l <.out)"
for what in formats conventions recipes paths block-scaled-paths arms sizes; do
  run 0 "$what" --json
  holds "${what}_json_is_an_array_of_named_things" python3 -c \
    'import json; assert all(x["name"] for x in json.load(open(".out")))'
  first=$(python3 -c 'import json; print(json.load(open(".out"))[0]["name"])')
  shows "${what}_json_shows_one" '"fields"' "$what" "$first" --json
  shows "${what}_says_that_a_thing_equals_itself" 'are the same' \
    "$what" "$first" --diff "$first"
  shows "${what}_json_diff_is_an_object" '"differences": \{\}' \
    "$what" "$first" --diff "$first" --json
  refuses "${what}_refuses_an_unknown_name" "unknown .* 'nope': " "$what" nope
  refuses "${what}_refuses_an_unknown_diff" "'nope'" \
    "$what" "$first" --diff nope
  refuses "${what}_refuses_diff_alone" '--diff needs a NAME' \
    "$what" --diff "$first"
done
run 0 recipes --json
is recipes_lists_16_recipes 16 "$(grep -c '"name"' .out)"
shows recipes_lists_what_cublaslt_does_with_scales_of_rows \
  '^cublaslt.rows +none +fma.fl.p.sb., sa, acc. +1x0 +1x0 ' recipes
shows recipes_show_where_two_differ 'interval +none +128' \
  recipes unpromoted --diff cublaslt.tensorwise

# Names that are not listed, but taken elsewhere.
shows formats_show_any_ieee_format '^bits +13' formats e5m7
shows paths_show_a_what_if 'F +9' paths whatif.f9.e4m3.e5m2.f32
refuses paths_say_which_what_ifs_there_are 'N from 8 to 34' \
  paths whatif.f7.e4m3.e5m2.f32

# Paths by GPU, instruction and type.
names() {  # names ARGUMENT...: how many paths, and the first
  run 0 paths "$@" --json
  python3 -c 'import json; x = json.load(open(".out"))
print(len(x), x[0]["name"])'
}
is paths_filter_by_gpu '2 turing.mma.fp16.fp16.f32' "$(names --gpu turing)"
is paths_filter_by_instruction '54 blackwell.tcgen05.bf16.bf16.f32' \
  "$(names --instruction tcgen05)"
is paths_filter_by_type '8 blackwell.tcgen05.e4m3.e2m1.f32' \
  "$(names --type e2m1 --type e4m3)"
is paths_filter_by_all_three '1 hopper.mma.fp16.fp16.f16' \
  "$(names --gpu hopper --instruction mma --type fp16 --type f16)"
refuses paths_say_which_gpu_was_meant "did you mean 'volta'" paths --gpu vlota
refuses paths_say_which_type_was_meant "did you mean 'fp16'" paths --type fp61
refuses paths_refuse_what_no_path_has 'no path has all' \
  paths --gpu volta --type bf16
refuses paths_choose_or_show 'leave out NAME' \
  paths exact.fp32.fp32.f32 --gpu exact
shows paths_have_a_legend '^F +fraction bits' paths --gpu volta
refuses paths_say_which_path_was_meant \
  "did you mean 'turing.mma.fp16.fp16.f32'" paths turing.mma.bf16.fp16.f32
refuses paths_say_what_refuted_one 'H200 refute it' \
  paths hopper.mma_zero.e4m3.e4m3.f16

# How each is known.
shows paths_show_their_evidence 'public_vectors 2500 records .B200.' \
  paths blackwell.mma.e4m3.e4m3.f32
run 0 paths --json
holds every_path_of_a_gpu_has_evidence python3 - <<'END'
import json
for path in json.load(open(".out")):
    kinds = [e["kind"] for e in path["evidence"]]
    assert kinds and len(set(kinds)) == len(kinds), path["name"]
END
holds measured_is_no_more_than_the_record_has python3 - "$here" <<'END'
import json, sys
record = json.load(open(sys.argv[1] + "/../records/gpu_random.json"))
ran = {c["check"][len("silicon."):-len(".random")]: c["cases"]
       for c in record["checks"]
       if c["check"].startswith("silicon.") and c["failures"] == 0}
said = {p["name"]: e["cases"] for p in json.load(open(".out"))
        for e in p["evidence"] if e["kind"] == "measured"}
assert said.keys() == ran.keys(), (said, ran)
assert all(said[name] <= ran[name] for name in said), (said, ran)
END

# Block scales.
shows block_scaled_paths_are_listed \
  '^blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32 +ue4m3 +16 +sums of 16 +64 +35' \
  block-scaled-paths
shows block_scaled_paths_show_their_evidence 'two_models 5120 steps .MMA-Sim' \
  block-scaled-paths rtx_blackwell.mma.mxf8f6f4.e4m3.e2m1.f32
shows what_ifs_have_block_scales '^F +34' \
  block-scaled-paths whatif.block_scaled_f34.e4m3.e4m3.f32
refuses block_scaled_paths_say_which_was_meant "did you mean 'blackwell" \
  block-scaled-paths blackwell.tcgen05.mxf8f6f4.e4m3.e4m3.f16
shows block_conventions_are_listed '^nvfp4 +ue4m3 +16' block-conventions
shows block_conventions_can_be_compared 'fl.amax.fl.T.fl.1/max' \
  block-conventions transformer_engine.nvfp4 --diff nvfp4
refuses block_conventions_say_which_was_meant "did you mean 'nvfp4'" \
  block-conventions nvfp
shows block_recipes_are_listed '^mxfp8 +e4m3, e5m2 +ue8m0 +32' block-recipes
shows block_recipes_example_of_its_help_works '^convention +nvfp4' \
  block-recipes nvfp4
refuses block_recipes_say_which_was_meant "did you mean 'mxfp8'" \
  block-recipes mxpf8
