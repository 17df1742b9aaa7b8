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
