#include "launcher/picture/box.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

double lines_height(const Box& box) { return static_cast<double>(box.lines.size()) * kLineHeight; }

// Boxes of one row are equally high.
void level_row(Box& box, std::size_t first, std::size_t end, double height) {
  for (std::size_t i = first; i < end; ++i) box.inside[i].height = height;
}

void draw_background(const Box& box, double x, double y, std::string& out) {
  const std::string place = "\" y=\"" + show_length(y) + "\" height=\"" + show_length(box.height) + "\"";
  const double band = box.width / static_cast<double>(std::max<std::size_t>(1, box.fills.size()));
  for (std::size_t i = 0; i < box.fills.size(); ++i)
    out += "<rect x=\"" + show_length(x + band * static_cast<double>(i)) + place + " width=\"" +
           show_length(band) + "\" fill=\"" + box.fills[i] + "\"/>\n";
  if (box.stroke.empty()) return;
  out += "<rect x=\"" + show_length(x) + place + " width=\"" + show_length(box.width) +
         "\" fill=\"none\" stroke=\"" + box.stroke + "\"" + (box.is_dashed ? " stroke-dasharray=\"4 3\"" : "") +
         "/>\n";
}

void draw_lines(const Box& box, double x, double y, std::string& out) {
  // The middle of capitals is some way above the line they stand on.
  double base = y + box.padding + (kLineHeight + kFontSize * 0.72) / 2;
  if (box.is_centred) base = y + (box.height - lines_height(box) + kLineHeight + kFontSize * 0.72) / 2;
  const double left = box.is_centred ? x + box.width / 2 : x + box.padding;
  for (const Text& line : box.lines) {
    out += "<text x=\"" + show_length(left) + "\" y=\"" + show_length(base) + "\"" +
           (box.is_centred ? " text-anchor=\"middle\"" : "") + (line.is_bold ? " font-weight=\"bold\"" : "") +
           ">" + escape_xml(line.content) + "</text>\n";
    base += kLineHeight;
  }
}

}  // namespace

double text_width(std::string_view text, double size) { return static_cast<double>(text.size()) * size * 0.62; }

void lay_out(Box& box) {
  double width = 0;
  for (const Text& line : box.lines)
    width = std::max(width, text_width(line.content) * (line.is_bold ? 1.12 : 1));
  double y = box.padding + lines_height(box);
  if (!box.inside.empty() && !box.lines.empty()) y += box.gap;
  double x = 0;
  double row = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < box.inside.size(); ++i) {
    Box& inner = box.inside[i];
    lay_out(inner);
    if (i > first && x + inner.width > box.wrap) {
      level_row(box, first, i, row);
      y += row + box.gap;
      x = row = 0;
      first = i;
    }
    inner.x = box.padding + x;
    inner.y = y;
    x += inner.width + box.gap;
    row = std::max(row, inner.height);
    width = std::max(width, x - box.gap);
  }
  level_row(box, first, box.inside.size(), row);
  box.width = std::max(box.least_width, width + 2 * box.padding);
  box.height = std::max(box.least_height, y + row + box.padding);
  // Below each other: equally wide.
  if (box.wrap == 0)
    for (Box& inner : box.inside) inner.width = box.width - 2 * box.padding;
}

std::string draw(const Box& box, double x, double y) {
  std::string out = "<g>\n";
  if (!box.tip.empty()) out += "<title>" + escape_xml(box.tip) + "</title>\n";
  draw_background(box, x, y, out);
  draw_lines(box, x, y, out);
  for (const Box& inner : box.inside) out += draw(inner, x + inner.x, y + inner.y);
  return out + "</g>\n";
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string show_length(double length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", length);
  std::string_view shown = text;
  if (shown.ends_with(".0")) shown.remove_suffix(2);
  return std::string(shown);
}

}  // namespace pinstep
