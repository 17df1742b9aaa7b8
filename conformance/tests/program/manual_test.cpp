// Completion and man pages, of a small program: what is taken of its commands.

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "tools/zeroulp/manual/completion.hpp"
#include "tools/zeroulp/manual/man.hpp"
#include "tools/zeroulp/manual/values.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

/// `tool`, and its commands cook and cook eggs.
class Manual : public testing::Test {
 protected:
  Manual() : app("A tool\nof two lines") {
    auto* cook = app.add_subcommand("cook", "It's what a cook does");
    cook->require_subcommand(1);
    auto* eggs = cook->add_subcommand("eggs", "Cook \\eggs -fast");
    eggs->footer("Example:\n  .tool cook eggs");
    eggs->add_option("PAN", pan, "where")->required();
    eggs->add_option("-m,--minutes", minutes, "how long")
        ->check(CLI::Range(1, 9))
        ->capture_default_str();
    auto* salt = eggs->add_option("--salt", with_salt, "which");
    eggs->add_flag("--soft", is_soft)->needs("--minutes")->excludes(salt);
    top = tree_of(app, [](const std::string& command, const std::string& o) {
      return command == "cook eggs" && o == "--salt"
                 ? std::vector<std::string>{"rock", "sea:fine"}
                 : std::vector<std::string>();
    });
  }

  bool has(const std::string& text, const std::string& part) const {
    return text.find(part) != std::string::npos;
  }

  CLI::App app;
  std::string pan, with_salt;
  int minutes = 4;
  bool is_soft = false;
  shown_command top;
};

TEST_F(Manual, HasEveryCommandAndOption) {
  const auto all = all_of(top);
  ASSERT_EQ(all.size(), 3U);
  const auto& eggs = *all[2];
  EXPECT_EQ(eggs.name, "cook eggs");
  EXPECT_EQ(eggs.example, "  .tool cook eggs");
  ASSERT_EQ(eggs.arguments.size(), 1U);
  EXPECT_EQ(eggs.arguments[0].names, std::vector<std::string>{"PAN"});
  EXPECT_TRUE(eggs.arguments[0].is_required);
  ASSERT_EQ(eggs.options.size(), 4U);  // --help, too
  const auto& time = eggs.options[1];
  EXPECT_EQ(time.names, (std::vector<std::string>{"-m", "--minutes"}));
  EXPECT_EQ(time.type, "INT in [1 - 9]");
  EXPECT_EQ(time.given, "4");
  EXPECT_EQ(eggs.options[2].values.size(), 2U);
  EXPECT_EQ(eggs.options[3].type, "");
  EXPECT_EQ(eggs.options[3].needs, std::vector<std::string>{"--minutes"});
  EXPECT_EQ(eggs.options[3].excludes, std::vector<std::string>{"--salt"});
}

TEST_F(Manual, APageSaysHowACommandIsCalled) {
  const auto page = man_page_of(*all_of(top)[2], "1.2");
  EXPECT_TRUE(page.starts_with(
      ".TH ZEROULP-COOK-EGGS 1 \"\" \"zeroulp 1.2\" \"zeroulp\"\n"));
  EXPECT_TRUE(has(page,
                  "\\fBzeroulp cook eggs\\fR [\\fIOPTION\\fR]... "
                  "\\fIPAN\\fR\n"));
  EXPECT_TRUE(has(page,
                  ".TP\n\\fB\\-m\\fR, \\fB\\-\\-minutes\\fR \\fIINT in [1 "
                  "\\- 9]\\fR\nhow long; default: 4\n"));
  EXPECT_TRUE(has(page,
                  "needs \\fB\\-\\-minutes\\fR; not with "
                  "\\fB\\-\\-salt\\fR\n"));
  EXPECT_TRUE(has(page, ".SH SEE ALSO\n\\fBzeroulp\\-cook\\fR(1)\n"));
}

TEST_F(Manual, APageShowsTextAsItIs) {
  const auto page = man_page_of(*all_of(top)[2], "1.2");
  EXPECT_TRUE(has(page, "Cook \\eeggs \\-fast\n"));
  EXPECT_TRUE(has(page, ".nf\n  .tool cook eggs\n.fi\n"));
  const auto cook = man_page_of(*all_of(top)[1], "1.2");
  EXPECT_TRUE(has(cook, "It\\(aqs what a cook does\n"));
  EXPECT_TRUE(has(cook, "\\fBzeroulp\\-cook\\-eggs\\fR(1)\n"));
}

TEST_F(Manual, NoLineOfAPageIsARequestByAccident) {
  shown_command c;
  c.name = "x";
  c.what = ".so /etc/passwd";
  c.example = "'tis\n.nf";
  const auto page = man_page_of(c, "1");
  EXPECT_TRUE(has(page, "\\&.so /etc"));
  EXPECT_TRUE(has(page, "\n\\&\\(aqtis\n\\&.nf\n"));
}

TEST_F(Manual, CompletionHasWordsOfEachCommand) {
  const auto bash = completion_of(top, "bash");
  EXPECT_TRUE(has(bash, "'cook|commands') _zeroulp_words='eggs' ;;"));
  EXPECT_TRUE(has(bash, "'cook eggs|--salt') _zeroulp_words='rock sea:fine'"));
  EXPECT_TRUE(has(bash, "_zeroulp_words='--help --minutes --salt --soft' ;;"));
  EXPECT_FALSE(has(bash, "'cook eggs|--soft'"));  // takes no value
  const auto zsh = completion_of(top, "zsh");
  EXPECT_TRUE(has(zsh, "reply=('eggs:Cook \\eggs -fast')"));
  EXPECT_TRUE(has(zsh, "reply=('cook:It'\\''s what a cook does')"));
  EXPECT_TRUE(has(zsh, "reply=('rock' 'sea\\:fine')"));
  const auto fish = completion_of(top, "fish");
  EXPECT_TRUE(has(fish,
                  "-n '__zeroulp_at cook eggs' -l salt -x -a 'rock "
                  "sea:fine' -d 'which'"));
  EXPECT_TRUE(has(fish, "-d 'It\\'s what a cook does'"));
}

TEST_F(Manual, RefusesAnUnknownShell) {
  try {
    (void)completion_of(top, "bsh");
    FAIL();
  } catch (const input_error& e) {
    EXPECT_STREQ(e.what(),
                 "completion: unknown shell 'bsh': did you mean 'bash' or "
                 "'zsh'? use one of bash, zsh, fish");
  }
}

TEST(CompletionValues, ComeFromTheTables) {
  const auto conventions = values_of("quantize", "--convention");
  EXPECT_NE(std::find(conventions.begin(), conventions.end(), "vllm"),
            conventions.end());
  // A step is of a path, with block scales or without.
  auto steps = values_of("paths", "NAME");
  for (const auto& name : values_of("block-scaled-paths", "NAME")) {
    steps.push_back(name);
  }
  EXPECT_EQ(values_of("step", "PATH"), steps);
  EXPECT_TRUE(values_of("quantize", "--out").empty());
  for (const auto& row : value_rows()) {
    EXPECT_FALSE(row.values().empty()) << row.command << row.option;
  }
}

TEST(CompletionValues, ARowOfOneCommandComesBeforeOneOfAll) {
  bool is_of_all = false;
  for (const auto& row : value_rows()) {
    is_of_all = is_of_all || std::string(row.command).empty();
    EXPECT_EQ(std::string(row.command).empty(), is_of_all) << row.option;
  }
}

}  // namespace
}  // namespace zeroulp::program
