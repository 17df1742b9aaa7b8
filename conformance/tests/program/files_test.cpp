// Files on disk: reading one, and output sets that appear whole or not at all.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/io/gzip.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "zeroulp-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator(root), {}));
  }
  static std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  template <class Action>
  static std::string error_of(Action action) {
    try {
      action();
    } catch (const input_error& error) {
      return error.what();
    }
    return "";
  }

  fs::path root;
};

using NpyFile = Directory;
class OutputSet : public Directory {
 protected:
  bool survives_a_full_disk() const;
};

// A limit on the size of files stands for the full disk.
bool OutputSet::survives_a_full_disk() const {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {4096, 4096};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = error_of([&] {
    output_set set(root / "new");
    set.add("x", std::string(10000, 'x'));
  });
  return entries() == 0 &&
         message.find("new/x: cannot write: File too large") !=
             std::string::npos;
}

TEST_F(NpyFile, WritesWhatItReads) {
  for (const auto& shape : std::vector<std::vector<std::size_t>>{
           {}, {7}, {3, 5}, {0, 4}, {2, 3, 4}}) {
    for (const dtype type : {dtype::f16, dtype::f32, dtype::f64, dtype::u8,
                             dtype::u16, dtype::u32}) {
      std::size_t size = size_of(type);
      for (const std::size_t dim : shape) size *= dim;
      array a{type, shape, std::vector<std::byte>(size)};
      for (std::size_t i = 0; i < size; ++i) a.data[i] = std::byte(i * 37);
      write_npy(root / "a.npy", a);
      const array b = read_npy(root / "a.npy");
      EXPECT_EQ(a.type, b.type);
      EXPECT_EQ(a.shape, b.shape);
      EXPECT_EQ(a.data, b.data);
      EXPECT_EQ(npy_header(a).size() % 64, 0U);
      EXPECT_EQ(npy_header(a).back(), '\n');
    }
  }
  EXPECT_EQ(entries(), 1U);
}

TEST_F(NpyFile, RefusesWhatIsNotARegularFile) {
  EXPECT_NE(error_of([&] { (void)read_npy(root); }).find("a directory"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)read_npy(root / "no"); }).find("No such file"),
            std::string::npos);
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  EXPECT_NE(error_of([&] { (void)read_npy(root / "pipe"); }).find("regular"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)read_npy("/dev/null"); }).find("regular"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)read_text(root / "pipe"); }).find("regular"),
            std::string::npos);
  if (::geteuid() == 0) return;  // root reads everything
  std::ofstream(root / "secret") << "x";
  fs::permissions(root / "secret", fs::perms::none);
  EXPECT_NE(error_of([&] { (void)read_npy(root / "secret"); }).find("denied"),
            std::string::npos);
}

TEST_F(OutputSet, ShowsNoFileBeforeCommitAndNoTemporaryAfter) {
  output_set set(root / "a" / "b");
  set.add("x", "one");
  set.add("y.npy", make_array<float>({1}, std::vector<float>{1}));
  EXPECT_FALSE(fs::exists(root / "a/b/x"));
  set.commit();
  EXPECT_EQ(content(root / "a/b/x"), "one");
  EXPECT_EQ(read_npy(root / "a/b/y.npy").as<float>()[0], 1.0F);
  EXPECT_EQ(entries(), 4U);
}

TEST_F(OutputSet, LeavesNothingWithoutCommit) {
  fs::create_directory(root / "kept");
  std::ofstream(root / "kept/x") << "old";
  {
    output_set made(root / "a" / "b"), kept(root / "kept");
    made.add("x", "one");
    kept.add("x", "new");
  }
  EXPECT_EQ(content(root / "kept/x"), "old");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(OutputSet, PutsOldFilesBackWhenOneCannotBePlaced) {
  std::ofstream(root / "x") << "old";
  output_set set(root);
  set.add("x", "new");
  set.add("fresh", "new");
  set.add("z", "new");
  fs::create_directories(root / "z" / "full");  // a rename onto it fails
  EXPECT_NE(error_of([&] { set.commit(); }).find("/z"), std::string::npos);
  EXPECT_EQ(content(root / "x"), "old");
  EXPECT_EQ(entries(), 3U);
  EXPECT_THROW(set.commit(), std::logic_error);
}

TEST_F(OutputSet, RefusesPathsThatCannotBeWritten) {
  std::ofstream(root / "file") << "x";
  const auto error = [&](const fs::path& path) {
    return error_of([&] { output_set().add(path, "y"); });
  };
  EXPECT_NE(error(root / "no" / "x").find("No such file"), std::string::npos);
  EXPECT_NE(error(root / "file" / "x").find("Not a dir"), std::string::npos);
  EXPECT_NE(error(root).find("not a regular file"), std::string::npos);
  EXPECT_NE(error("/dev/null").find("not a regular file"), std::string::npos);
  EXPECT_NE(error("").find("does not name a file"), std::string::npos);
  EXPECT_NE(error("/proc/x").find("/proc/x: cannot write"), std::string::npos);
  EXPECT_NE(error_of([&] { output_set(root / "file"); }).find("make the dir"),
            std::string::npos);
  EXPECT_NE(error_of([&] { output_set(root / "new" / "/proc/no/x"); }), "");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputSet, RemovesWhatADeadProcessLeft) {
  // Number 1 lives, but holds no lock: it is another process by now.
  std::ofstream(root / ".zeroulp-1-0.tmp") << "x";
  std::ofstream(root / ".zeroulp-4194304-12.tmp") << "x";
  for (const char* name :
       {".zeroulp-1.tmp", ".zeroulp--1.tmp", ".zeroulp-1-.tmp", ".zeroulp-.tmp",
        ".zeroulp-1-0.tmp.old", ".zeroulp-a-0.tmp", "zeroulp-1-0.tmp"}) {
    std::ofstream(root / name) << "x";
  }
  output_set set(root);
  set.add("x", "new");
  EXPECT_FALSE(fs::exists(root / ".zeroulp-1-0.tmp"));
  set.commit();
  EXPECT_EQ(entries(), 8U);
}

TEST_F(OutputSet, LeavesWhatALivingProcessHolds) {
  const fs::path held = root / ".zeroulp-4194304-0.tmp";
  std::ofstream(held) << "x";
  const int other = ::open(held.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  write_npy(root / "a.npy", make_array<float>({0}, std::vector<float>{}));
  EXPECT_TRUE(fs::exists(held));
  ::close(other);
  write_npy(root / "a.npy", make_array<float>({0}, std::vector<float>{}));
  EXPECT_FALSE(fs::exists(held));
}

TEST_F(OutputSet, HoldsItsTemporariesAgainstOthers) {
  output_set one(root), two(root);
  one.add("x", "one");
  two.add("y", "two");
  EXPECT_EQ(entries(), 2U);
  one.commit();
  two.commit();
  EXPECT_EQ(content(root / "x") + content(root / "y"), "onetwo");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(OutputSet, ExpectsOnlyWhatItCanReplace) {
  std::ofstream(root / "file") << "x";
  fs::create_directory(root / "folder");
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", root / "link");
  const output_set set(root);
  EXPECT_EQ(error_of([&] { set.expect({"file", "new"}); }), "");
  for (const char* name : {"folder", "pipe", "link"}) {
    EXPECT_NE(error_of([&] {
                set.expect({"new", name});
              })
                  .find(std::string(name) +
                        ": cannot write: this is not a regular file"),
              std::string::npos);
  }
}

TEST_F(OutputSet, ReportsAFullDiskAndRemovesTheTemporary) {
  EXPECT_EXIT(::_exit(survives_a_full_disk() ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

TEST_F(OutputSet, WritesThroughASymbolicLinkAndKeepsIt) {
  std::ofstream(root / "real") << "old";
  fs::create_symlink("real", root / "link");
  output_set set;
  set.add(root / "link", "new");
  set.commit();
  EXPECT_TRUE(fs::is_symlink(root / "link"));
  EXPECT_EQ(content(root / "real"), "new");
}

TEST(InputError, IsOneLine) {
  EXPECT_STREQ(input_error("a\nb\tc\x7F").what(), "a?b?c?");
}

}  // namespace
}  // namespace zeroulp
