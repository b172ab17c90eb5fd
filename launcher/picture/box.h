// Boxes in boxes, laid out from the inside: a box is as large as what is in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep {

struct Text {
  std::string content;
  bool is_bold = false;
};

struct Box {
  std::string tip;          // shown when pointed at
  std::vector<Text> lines;  // at its top
  // Several share it in vertical bands. None: not filled.
  std::vector<std::string> fills;
  std::string stroke;  // of its border; empty: none
  bool is_dashed = false;
  bool is_centred = false;  // the lines
  double padding = 0;       // around what is in it
  double gap = 0;           // between the boxes in it
  double wrap = 0;          // the boxes in it go in rows of this width at most; 0: below each other
  double least_width = 0;
  double least_height = 0;
  std::vector<Box> inside;

  // Found by lay_out(), within the box around it.
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// Sets x, y, width and height of all boxes within this one, and its own size.
void lay_out(Box& box);

// The box and what is in it as SVG elements, its corner at (x, y).
std::string draw(const Box& box, double x, double y);

// For text in an attribute or an element.
std::string escape_xml(std::string_view text);

// "12.5"
std::string show_length(double length);

inline constexpr double kFontSize = 13;
inline constexpr double kLineHeight = 17;

// What a text needs at most in the fonts we name, which differ.
double text_width(std::string_view text, double size = kFontSize);

}  // namespace pinstep
