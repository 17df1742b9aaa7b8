// Defines what reports are made of: `table` (text, CSV), `plot` (SVG by
// gnuplot) and `html_page`, one self-contained document.
//
// Everything is a function of its input: no dates, no host, no random ids.
// Text is UTF-8. Internal: what users include is zeroulp/*.hpp.

#ifndef ZEROULP_TOOLS_STUDY_REPORT_REPORT_HPP_
#define ZEROULP_TOOLS_STUDY_REPORT_REPORT_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zeroulp {

/// Rows of cells; a row shorter than `columns` is filled with empty cells.
struct table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Returns lines with aligned columns for a terminal, a rule under the header.
/// Columns that hold only numbers are aligned to the right.
///
/// Where `width` is not 0, no line is longer, unless the first column and one
/// of numbers leave no choice: text wraps inside its column. Where that is not
/// enough, the table is cut into several, each with the first column.
std::string to_text(const table& t, std::size_t width = 0);

/// Returns RFC 4180 CSV, except that lines end in LF alone.
std::string to_csv(const table& t);

/// `dots` are bars that are no bars: of values that do not begin at zero.
enum class plot_kind { lines, bars, dots };

/// A line (points (x, y) in the order given) or a group of bars or dots (y of
/// point i stands at category i, x is not used). A point that is not finite, or
/// not positive on a log axis, is left out.
struct series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  /// The error bar of each point, (low, high); NaN: it has none. Empty: none
  /// has. On a log axis a bar that reaches 0 ends at the axis.
  std::vector<std::pair<double, double>> bars{};
};

struct plot {
  std::string title, x_label, y_label;
  plot_kind kind = plot_kind::lines;
  bool log_x = false, log_y = false;
  std::vector<series> curves;
  std::vector<std::string> categories;  ///< of bars and dots, left to right
  std::vector<double> x_ticks;          ///< of lines; empty: chosen by gnuplot
  std::vector<double> bounds{};         ///< y of broken lines from side to side
};

/// A plot and the file that it goes to.
struct named_plot {
  const char* file;
  plot drawn;
};

/// Returns the numbers of `p`: a row for each x (or category), a column for
/// each series; of a point with an error bar "y (low to high)".
table to_table(const plot& p);

/// Returns an <svg> element without prologue, or nothing where `program` is
/// absent or fails. Black is currentColor, so the page's scheme applies.
std::optional<std::string> render_svg(const plot& p,
                                      const std::string& program = "gnuplot");

/// What a badge says at a glance.
enum class mark { good, bad, doubtful, none };

/// A badge: what its colour says, and its word.
struct badge {
  mark is;
  std::string word;
};

/// "held" or "FAILED".
badge badge_of(bool held);

/// A row of a page's table of verdicts.
struct shown_verdict {
  badge said;
  std::string of;    ///< what was judged
  std::string id;    ///< of the heading that it is under, or ""
  std::string text;  ///< what was found
};

/// A matrix of kinds, to be seen as a picture. Kind 0 is nothing.
struct shown_map {
  std::size_t rows = 0, columns = 0;
  std::vector<std::uint8_t> kinds;  ///< of each element, row by row
  std::vector<std::string> names;   ///< of kinds 1, 2, ...; at most 4
};

/// Words of one format beside each other, bit by bit. The first is what the
/// others are held against.
struct shown_bits {
  struct field {
    std::string name;
    int bits;
  };
  struct word {
    std::string of;
    std::uint64_t bits;
  };
  std::vector<field> fields;  ///< from the highest bit
  std::vector<word> words;
  /// In how many elements each bit differs, from the highest, of how many that
  /// differ. Empty: not known.
  std::vector<std::uint64_t> differing{};
};

/// Collects the parts of a page in order; text is escaped, never markup. How it
/// looks is page.html and parts.html.
class html_page {
 public:
  explicit html_page(std::string_view title);
  void add_heading(std::string_view text);
  /// One that add_links can lead to.
  void add_heading(std::string_view text, std::string_view id);
  /// A list of links to headings, (id, text) each.
  void add_links(
      const std::vector<std::pair<std::string, std::string>>& headings);
  void add_paragraph(std::string_view text);
  /// Lines as they are, each wrapped where it is too long.
  void add_lines(std::string_view text);
  void add_table(const table& t, std::string_view caption = {});
  void add_badges(const std::vector<badge>& all);
  void add_verdicts(const std::vector<shown_verdict>& all);
  /// Shares in percent, a row and a column for each of the same things: narrow,
  /// the larger the darker.
  void add_matrix(const table& t, std::string_view caption);
  /// Where something is in a matrix. Of a large one a square is some rows and
  /// columns, with the commonest kind in them.
  void add_map(const shown_map& m, std::string_view caption);
  void add_bits(const shown_bits& b, std::string_view caption);
  /// Shows `svg`, with ids made unique to this page, or where it is absent the
  /// numbers of `p` and a line that says why.
  void add_figure(const plot& p, std::string_view caption,
                  const std::optional<std::string>& svg);
  std::string str() const;

 private:
  void add_figure(std::string_view body, std::string_view caption);

  std::string title_, body_;
  int figures_ = 0;
};

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_REPORT_REPORT_HPP_
