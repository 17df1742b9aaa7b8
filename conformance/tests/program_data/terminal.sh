# The terminal: its width, completion, man pages, doctor, what is near.

# on_terminal COLUMNS ARGUMENT...: what the program prints on a terminal of so
# many columns; of 0, COLUMNS in the environment says how many.
on_terminal() {
  python3 -S -E - "$program" "$@" <<'PYTHON'
import fcntl, os, pty, struct, sys, termios
program, columns, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
pid, end = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(program, [program, *arguments])
text = b""
try:
    while part := os.read(end, 65536):
        text += part
except OSError:  # the other end is closed
    pass
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
}
widest() { awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'; }

# Off a terminal nothing depends on one.
run 0 recipes
cp .out recipes.out
COLUMNS=40 run 0 recipes
holds tables_off_a_terminal_ignore_its_width cmp recipes.out .out
table=$(sed '/^$/,$d' recipes.out)
if ! on_terminal 200 --version >/dev/null 2>&1; then
  echo "# no terminal to be had here"
else
  for columns in 60 80 120; do
    unset COLUMNS
    on_terminal $columns recipes >narrow.out
    holds "tables_fit_into_${columns}_columns" \
      test "$(sed '/^interval  /,$d' narrow.out | widest)" -le $columns
    is "tables_of_${columns}_columns_have_every_row" \
      "$(grep -c '^deepgemm.1d2d ' narrow.out)" \
      "$(grep -c '^name ' narrow.out)"
  done
  holds narrow_tables_repeat_the_first_column \
    test "$(grep -c '^name ' narrow.out)" -gt 1
  on_terminal 1000 recipes >wide.out
  is a_wide_terminal_has_the_table_as_it_is "$table" \
    "$(sed '/^$/,$d' wide.out)"
  COLUMNS=70 on_terminal 1000 recipes >columns.out
  holds columns_of_the_environment_count \
    test "$(sed '/^interval  /,$d' columns.out | widest)" -le 70
  COLUMNS=nonsense on_terminal 1000 recipes >columns.out
  holds columns_that_are_no_number_do_not_count cmp wide.out columns.out
fi

# What the columns of accumulators mean.
shows recipes_have_a_legend '^L  +products that a step' recipes
shows step_has_a_legend '^place: ea [+] eb' \
  step hopper.wgmma.e4m3.e4m3.f32 --a 7e38 --b 7e01 --c 3f800000

# Completion: scripts load, and complete what the program has.
refuses completion_of_an_unknown_shell \
  "unknown shell 'bahs': did you mean 'bash'[?] use one of bash, zsh, fish" \
  completion bahs
refuses completion_needs_a_shell 'SHELL is required' completion
shows completion_example_of_its_help_works '^complete .* zeroulp$' \
  completion bash
cp .out zeroulp.bash
completes() {  # completes WORD...: the candidates for the last one, in bash
  bash --norc -c '. ./zeroulp.bash
    COMP_WORDS=(zeroulp "$@")
    COMP_CWORD=$#
    _zeroulp zeroulp "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    echo "${COMPREPLY[*]}"' bash "$@"
}
is completion_of_a_command 'quantize' "$(completes quan)"
is completion_of_a_command_of_a_command 'quantize' "$(completes fuzz qu)"
is completion_of_an_option '--convention' "$(completes quantize --conv)"
is completion_of_a_value 'deepep' \
  "$(completes quantize x.npy --convention deepe)"
is completion_of_a_value_behind_an_equals_sign 'deepep' \
  "$(completes quantize --convention = deepe)"
is completion_of_an_argument 'vllm.per_token vllm.ue8m0' \
  "$(completes conventions vllm.per) $(completes conventions vllm.ue)"
is completion_of_a_page 'fuzz' "$(completes man fu)"
is completion_of_a_profile 'subnormal' "$(completes fuzz quantize --profile su)"
is completion_of_a_file_is_left_to_bash '' "$(completes quantize --out q)"
run 0 conventions --json
python3 -c 'import json
print(*(c["name"] for c in json.load(open(".out"))))' >names.txt
is completion_has_every_convention "$(cat names.txt)" \
  "$(completes quantize --convention '')"
# Every catalog completes the names that it lists, and takes all of them.
for catalog in formats conventions recipes paths block-scaled-paths arms \
  sizes; do
  run 0 "$catalog" --json
  python3 -c 'import json
print(*(row["name"] for row in json.load(open(".out"))))' >names.txt
  is "completion_has_all_of_$catalog" "$(cat names.txt)" \
    "$(completes "$catalog" '')"
  is "completion_of_diff_has_all_of_$catalog" "$(cat names.txt)" \
    "$(completes "$catalog" --diff '')"
done
is completion_of_a_step_with_block_scales \
  'blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32' \
  "$(completes step blackwell.tcgen05.mxf4nvf4.e)"
run 0 completion zsh
cp .out _zeroulp
run 0 completion fish
cp .out zeroulp.fish
if command -v zsh >/dev/null; then
  holds completion_of_zsh_loads zsh -f -n _zeroulp
  is completion_of_zsh_has_the_values 'vllm' "$(zsh -f -c '. ./_zeroulp
    _zeroulp_ask "quantize|--convention"; print -l $reply' | grep '^vllm$')"
else
  echo "# no zsh here"
fi
if command -v fish >/dev/null; then
  is completion_of_fish_completes 'quantize --convention deepep' \
    "$(HOME=$work fish --no-config -c 'source zeroulp.fish
      echo (complete -C "zeroulp quan" | string split -f1 \t) \
        (complete -C "zeroulp quantize --conv" | string split -f1 \t) \
        (complete -C "zeroulp quantize --convention deepe" |
          string split -f1 \t)')"
else
  echo "# no fish here"
fi

# Man pages: one a command, without a warning of groff.
shows man_example_of_its_help_works '^.TH ZEROULP-FUZZ-QUANTIZE 1' \
  man fuzz quantize
refuses man_of_an_unknown_command \
  "man: unknown command 'fuzz quantise': did you mean 'quantize'" \
  man fuzz quantise
refuses man_of_a_command_without_commands 'formats has none' man formats x
refuses man_takes_one_or_all 'leave out fuzz' man fuzz --out pages
run 0 man --out pages
is man_writes_the_page_of_the_program 1 "$(ls pages | grep -c '^zeroulp.1$')"
is man_writes_a_page_a_command '' "$("$program" --help |
  sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p' |
  while read -r name; do ls pages/zeroulp-$name.1 >/dev/null; done 2>&1)"
if command -v groff >/dev/null; then
  is man_pages_have_no_warnings '' \
    "$(groff -man -ww -Tutf8 -z pages/*.1 2>&1 | head -n 5)"
else
  echo "# no groff here"
fi

# What is found on this machine.
run 0 doctor
[ -z "$reason" ] || run 1 doctor  # what is broken here is not the program
is doctor_has_a_verdict '' "$reason"
holds doctor_names_its_version grep -qE "^(ok|note) +zeroulp +[0-9.]+, version" \
  .out
for line in processor SIMD threads memory CUDA Python gnuplot; do
  holds "doctor_has_a_line_of_$line" grep -qE "^(ok|note|problem) +$line " .out
done
OMP_NUM_THREADS=999 "$program" doctor >.out
holds doctor_says_what_to_do grep -qE '^note +threads .*OMP_NUM_THREADS=' .out
ZEROULP_PYTHON=/nonexistent/python PATH=/nonexistent "$program" doctor >.out
is doctor_without_python_is_not_broken 0 $?
holds doctor_names_a_python_that_is_not_there \
  grep -qE '^note +Python +/nonexistent/python was not found' .out
printf '#!/bin/sh\necho 3.9.1; echo 0.0.1; echo /somewhere\n' >other_python
chmod +x other_python
ZEROULP_PYTHON=./other_python "$program" doctor --json >.out
is doctor_finds_another_version 1 $?
holds doctor_json_says_what_is_broken python3 -c 'import json
broken = [f for f in json.load(open(".out")) if f["standing"] == "problem"]
assert [f["what"] for f in broken] == ["Python"], broken
assert "0.0.1" in broken[0]["found"] and broken[0]["to_do"], broken'
run 0 --version
version=$out
printf '#!/bin/sh\necho 3.9.1; echo %s; echo /somewhere\n' "$version" \
  >other_python
ZEROULP_PYTHON=./other_python "$program" doctor >.out
holds doctor_finds_the_same_version grep -qE "^ok +Python .*$version in /some" \
  .out

# What is near is named, wherever a name is refused.
refuses a_profile_that_is_near "'mixd' of quantize: did you mean 'mixed'" \
  fuzz quantize --profile mixd
refuses an_opponent_that_is_near "'oracl': did you mean 'oracle'" \
  fuzz quantize --against oracl
refuses a_benchmark_that_is_none "unknown benchmark 'gem.hopper'" \
  bench gem.hopper
refuses a_field_of_a_cell_that_is_near "did you mean 'a.input'" \
  study --cells k=1 a.inptu=2
refuses a_class_that_is_near "'nan-bit': did you mean 'nan-bits'" \
  fuzz encode --ignore nan-bit
