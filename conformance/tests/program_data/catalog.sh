# formats, conventions, recipes, paths.

shows formats_example_of_its_help_works 'max .*65024' formats e5m6
shows conventions_example_of_its_help_works 'field +vllm +deepep' \
  conventions vllm --diff deepep
shows recipes_example_of_its_help_works fma \
  recipes deepgemm.1d2d --diff cublaslt.1x128_1x128
shows paths_example_of_its_help_works 'F +13 +25' \
  paths hopper.wgmma.e4m3.e4m3.f32 --diff hopper.wgmma.bf16.bf16.f32
shows arms_example_of_its_help_works '^dy .*e4m3.*e5m2' arms full --diff hybrid
shows sizes_example_of_its_help_works '^width +256 +2048' sizes T --diff bridge
run 0 formats
is formats_lists_15_formats 17 "$(wc -l <.out)"
run 0 conventions
is conventions_lists_23_conventions 25 "$(wc -l <.out)"
for what in formats conventions recipes paths arms sizes; do
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
shows recipes_show_where_two_differ 'interval +none +128' \
  recipes unpromoted --diff cublaslt.tensorwise

# Names that are not listed, but taken elsewhere.
shows formats_show_any_ieee_format '^bits +13' formats e5m7
shows paths_show_a_what_if 'F +9' paths whatif.f9.e4m3.e5m2.f32
refuses paths_say_which_what_ifs_there_are 'N from 8 to 34' \
  paths whatif.f7.e4m3.e5m2.f32
