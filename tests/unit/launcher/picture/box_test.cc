#include "launcher/picture/box.h"

#include <gtest/gtest.h>

namespace pinstep {
namespace {

Box leaf(double width, double height) {
  Box box;
  box.least_width = width;
  box.least_height = height;
  return box;
}

TEST(Box, RowsEndAtTheWidthAndAreLevel) {
  Box box;
  box.wrap = 100;
  box.gap = 10;
  box.padding = 5;
  box.inside = {leaf(40, 20), leaf(50, 30), leaf(60, 10)};
  lay_out(box);
  EXPECT_EQ(box.inside[0].x, 5);
  EXPECT_EQ(box.inside[1].x, 55);
  EXPECT_EQ(box.inside[0].height, 30);
  EXPECT_EQ(box.inside[2].x, 5);
  EXPECT_EQ(box.inside[2].y, 45);
  EXPECT_EQ(box.width, 110);
  EXPECT_EQ(box.height, 60);
}

TEST(Box, AColumnIsAsWideAsItsWidest) {
  Box box;
  box.lines = {{"a"}};
  box.inside = {leaf(40, 20), leaf(50, 30)};
  lay_out(box);
  EXPECT_EQ(box.inside[0].width, 50);
  EXPECT_EQ(box.inside[1].y, kLineHeight + 20);
}

TEST(Box, SeveralFillsAreBands) {
  Box box = leaf(40, 20);
  box.fills = {"#111111", "#222222"};
  box.tip = "a & b";
  box.lines = {{"<1>"}};
  lay_out(box);
  const std::string text = draw(box, 0, 0);
  EXPECT_NE(text.find("<rect x=\"0\" y=\"0\" height=\"20\" width=\"20\" fill=\"#111111\"/>"), std::string::npos)
      << text;
  EXPECT_NE(text.find("<rect x=\"20\" y=\"0\" height=\"20\" width=\"20\" fill=\"#222222\"/>"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("<title>a &amp; b</title>"), std::string::npos) << text;
  EXPECT_NE(text.find(">&lt;1&gt;</text>"), std::string::npos) << text;
}

TEST(Box, LengthsAreShort) {
  EXPECT_EQ(show_length(12), "12");
  EXPECT_EQ(show_length(12.54), "12.5");
}

}  // namespace
}  // namespace pinstep
