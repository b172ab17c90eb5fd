#include "launcher/worker/report/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "envtools/base/text.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

constexpr double kWidth = 960, kHeight = 820;
constexpr double kLeft = 84, kRight = 24;  // of the panels

constexpr double kLeastForBar = 6;  // a rank's width that a percentile's bar needs

constexpr const char* kBlue = "#0072B2";
constexpr const char* kGreen = "#009E73";
constexpr const char* kVermillion = "#D55E00";
constexpr const char* kPale = "#C6DBEA";
constexpr const char* kGrid = "#E3E3E3";
constexpr const char* kInk = "#222222";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text))
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string number(double value) { return formatted("%.6g", value); }

enum class Anchor { start, middle, end };

std::string text_at(double x, double y, std::string_view words, Anchor anchor = Anchor::start,
                    const char* more = "") {
  const char* name = anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
  return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, name, more) + escaped(words) +
         "</text>\n";
}

std::string line_from(double x1, double y1, double x2, double y2, const char* colour, const char* more = "") {
  return formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"%s/>\n", x1, y1, x2, y2,
                   colour, more);
}

std::string box(double x, double y, double width, double height, const char* fill, const char* more = "") {
  return formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"%s/>\n", x, y, width,
                   height, fill, more);
}

// A plot with its axes: values to places.
struct Panel {
  double top, height;
  double low_x, high_x, low_y, high_y;

  double x(double value) const {
    return kLeft + (value - low_x) / (high_x - low_x) * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return top + height - (value - low_y) / (high_y - low_y) * height; }
  double bottom() const { return top + height; }
};

Panel panel(double top, double height, double low_x, double high_x, double high_y, double low_y = 0) {
  if (high_x <= low_x) high_x = low_x + 1;
  if (high_y <= low_y) high_y = low_y + 1;
  const auto marks = ticks(low_y, high_y, 5);
  return {top, height, low_x, high_x, marks.front(), marks.back()};
}

std::string axis_y(const Panel& p, const char* unit) {
  std::string svg;
  for (const double value : ticks(p.low_y, p.high_y, 5)) {
    svg += line_from(kLeft, p.y(value), kWidth - kRight, p.y(value), kGrid);
    svg += text_at(kLeft - 8, p.y(value) + 4, number(value), Anchor::end);
  }
  return svg +
         formatted("<text transform=\"translate(20 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                   p.top + p.height / 2, unit);
}

std::string axis_steps(const Panel& p, const RunSummary& summary) {
  std::string svg;
  for (const double value : ticks(p.low_x, p.high_x, 10))
    if (value >= p.low_x && value <= p.high_x && value == std::floor(value)) {
      svg += line_from(p.x(value), p.bottom(), p.x(value), p.bottom() + 4, kInk);
      svg += text_at(p.x(value), p.bottom() + 18, number(value), Anchor::middle);
    }
  for (const double end : summary.epoch_ends)
    svg += line_from(p.x(end), p.top, p.x(end), p.bottom(), "#999999", " stroke-dasharray=\"2 3\"");
  return svg + line_from(kLeft, p.bottom(), kWidth - kRight, p.bottom(), kInk);
}

std::string polyline(const Panel& p, const std::vector<Point>& curve, double Point::*value,
                     const char* colour) {
  std::string points;
  for (const Point& point : curve)
    if (std::isfinite(point.*value)) points += formatted("%.1f,%.1f ", p.x(point.step), p.y(point.*value));
  // A single point has no line.
  std::string svg = formatted("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" points=\"", colour) +
                    points + "\"/>\n";
  if (curve.size() == 1 && std::isfinite(curve[0].*value))
    svg += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", p.x(curve[0].step),
                     p.y(curve[0].*value), colour);
  return svg;
}

std::string heading(double y, const char* words) {
  return text_at(kLeft, y, words, Anchor::start, " font-weight=\"bold\"");
}

struct Key {
  const char* colour;
  const char* words;
  enum class Shape { line, dot, box, hatched } shape;
};

// From the right edge of a panel, in the line of its heading.
std::string legend(double y, const std::vector<Key>& keys) {
  std::string svg;
  double x = kWidth - kRight;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    x -= 6.6 * static_cast<double>(std::string_view(key->words).size());
    svg += text_at(x, y, key->words);
    x -= 24;
    switch (key->shape) {
      case Key::Shape::line:
        svg += line_from(x, y - 4, x + 18, y - 4, key->colour, " stroke-width=\"1.8\"");
        break;
      case Key::Shape::dot:
        svg += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x + 9, y - 4, key->colour);
        break;
      case Key::Shape::box:
        svg += box(x + 4, y - 10, 12, 12, key->colour);
        break;
      case Key::Shape::hatched:
        svg += box(x + 4, y - 10, 12, 12, key->colour) + box(x + 4, y - 10, 12, 12, "url(#hatch)");
        break;
    }
    x -= 16;
  }
  return svg;
}

double last_step(const RunSummary& summary) {
  return std::max<double>(static_cast<double>(summary.last_step), 2);
}

// The loss of each epoch's test images stands at the epoch's last step.
std::vector<std::pair<double, double>> test_losses(const RunSummary& summary) {
  std::vector<double> ends = summary.epoch_ends;
  ends.push_back(static_cast<double>(summary.last_step));
  std::vector<std::pair<double, double>> found;
  for (const LoggedEpoch& epoch : summary.epochs)
    if (epoch.epoch >= 1 && epoch.epoch <= ends.size() && std::isfinite(epoch.test_loss))
      found.emplace_back(ends[epoch.epoch - 1], epoch.test_loss);
  return found;
}

std::string loss_panel(const RunSummary& summary, double top) {
  double most = 0;
  const Point* no_number = nullptr;
  for (const Point& point : summary.curve) {
    if (std::isfinite(point.loss)) most = std::max(most, point.loss);
    if (!std::isfinite(point.loss) && no_number == nullptr) no_number = &point;
  }
  const auto tests = test_losses(summary);
  for (const auto& [step, loss] : tests) most = std::max(most, loss);
  const Panel p = panel(top + 16, 190, 1, last_step(summary), most);
  std::string svg = heading(top, "Loss") + axis_y(p, "cross entropy") + axis_steps(p, summary);
  svg += polyline(p, summary.curve, &Point::loss, kBlue);
  for (const auto& [step, loss] : tests)
    svg += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"white\"/>\n", p.x(step),
                     p.y(loss), kVermillion);
  if (no_number != nullptr)
    svg += text_at(kLeft + 12, p.top + 20, formatted("no number from about step %.0f on", no_number->step),
                   Anchor::start, formatted(" fill=\"%s\" font-weight=\"bold\"", kVermillion).c_str());
  std::vector<Key> keys{{kBlue, "training, mean of all ranks", Key::Shape::line}};
  if (!tests.empty()) keys.push_back({kVermillion, "test images, after an epoch", Key::Shape::dot});
  return svg + legend(top, keys);
}

std::string throughput_panel(const RunSummary& summary, double top) {
  double most = 0;
  for (const Point& point : summary.curve) most = std::max(most, point.samples_per_second);
  const Panel p = panel(top + 16, 150, 1, last_step(summary), most);
  return heading(top, "Throughput") + axis_y(p, "samples/s") + axis_steps(p, summary) +
         polyline(p, summary.curve, &Point::samples_per_second, kGreen) +
         text_at(kWidth - kRight, p.bottom() + 34,
                 summary.epoch_ends.empty() ? "step" : "step; dotted: an epoch ends", Anchor::end) +
         legend(top, {{kGreen, "all ranks together", Key::Shape::line}});
}

// Numbers below as many bars as there is room for.
std::string rank_numbers(const Panel& p, const std::vector<RankSummary>& ranks, double step) {
  std::size_t every = 1;
  for (std::size_t round = 1; static_cast<double>(every) * step < 28; round *= 10)
    for (const std::size_t nice : {1U, 2U, 5U})
      if (static_cast<double>(every) * step < 28) every = nice * round;
  std::string svg;
  for (std::size_t i = 0; i < ranks.size(); i += every)
    svg += text_at(p.x(static_cast<double>(i) + 0.5), p.bottom() + 18, std::to_string(ranks[i].rank),
                   Anchor::middle);
  return svg;
}

std::string bar_of(const Panel& p, std::size_t place, const RankSummary& rank, double width) {
  const double middle = p.x(static_cast<double>(place) + 0.5), left = middle - width / 2;
  const double own = p.y(rank.own * 1e3), all = p.y((rank.own + rank.waited) * 1e3);
  std::string svg = formatted("<g><title>rank %u on %s: own %.2f ms, waited %.2f ms</title>\n", rank.rank,
                              escaped(rank.node).substr(0, 100).c_str(), rank.own * 1e3, rank.waited * 1e3);
  svg += box(left, all, width, own - all, kPale);
  svg += box(left, own, width, p.bottom() - own, rank.is_straggler ? kVermillion : kBlue);
  if (rank.is_straggler) svg += box(left, own, width, p.bottom() - own, "url(#hatch)");
  if (width >= kLeastForBar) {
    const double late = p.y(rank.own_late * 1e3), half = std::min(width / 4, 8.0);
    svg +=
        line_from(middle, own, middle, late, kInk) + line_from(middle - half, late, middle + half, late, kInk);
  }
  return svg + "</g>\n";
}

// Above the bars, in two lines, the worst ones first; those that have no room there are hatched only.
std::string straggler_labels(const Panel& p, const std::vector<RankSummary>& ranks) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].is_straggler) places.push_back(i);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a].factor > ranks[b].factor; });
  std::vector<double> taken[2];
  std::string svg;
  for (const std::size_t place : places) {
    const RankSummary& rank = ranks[place];
    const std::string words = formatted("rank %u: %.2f x", rank.rank, rank.factor);
    const double half = 3.4 * static_cast<double>(words.size());
    const double middle =
        std::clamp(p.x(static_cast<double>(place) + 0.5), kLeft + half, kWidth - kRight - half);
    const double y = p.y(std::max(rank.own + rank.waited, rank.own_late) * 1e3) - 6;
    for (auto& row : taken) {
      const bool is_free =
          std::all_of(row.begin(), row.end(), [&](double x) { return std::abs(x - middle) > 2 * half + 6; });
      if (!is_free) continue;
      row.push_back(middle);
      svg += text_at(middle, y - (&row == taken ? 0 : 14), words, Anchor::middle,
                     formatted(" fill=\"%s\" font-weight=\"bold\"", kVermillion).c_str());
      break;
    }
  }
  return svg;
}

std::string rank_panel(const RunSummary& summary, double top) {
  const auto& ranks = summary.ranks;
  double most = 0;
  bool is_any_late = false;
  for (const RankSummary& rank : ranks) {
    most = std::max({most, rank.own + rank.waited, rank.own_late});
    is_any_late |= rank.is_straggler;
  }
  const double count = static_cast<double>(ranks.size());
  const Panel p = panel(top + 16, 190, 0, count, most * 1e3 * 1.25);  // room for labels
  const double step = p.x(1) - p.x(0), width = std::min(step * 0.7, 60.0);
  std::string svg = heading(top, "Step time by rank") + axis_y(p, "ms, median");
  for (std::size_t i = 0; i < ranks.size(); ++i) svg += bar_of(p, i, ranks[i], step < 3 ? step : width);
  svg += line_from(kLeft, p.bottom(), kWidth - kRight, p.bottom(), kInk);
  svg += rank_numbers(p, ranks, step) + straggler_labels(p, ranks);
  svg += text_at(kWidth - kRight, p.bottom() + 34, "rank", Anchor::end);
  const bool has_bars = width >= kLeastForBar;
  std::vector<Key> keys{
      {kBlue, has_bars ? "own work, bar to its 95th percentile" : "own work", Key::Shape::box}};
  if (is_any_late) keys.push_back({kVermillion, "straggler", Key::Shape::hatched});
  keys.push_back({kPale, "waiting for others", Key::Shape::box});
  return svg + legend(top, keys);
}

std::string title(const RunSummary& summary) {
  std::string words = summary.model + ", " + std::to_string(summary.parameters) + " parameters, on " +
                      std::to_string(summary.size) + (summary.size == 1 ? " rank" : " ranks") + " of " +
                      std::to_string(summary.nodes) + (summary.nodes == 1 ? " node" : " nodes");
  return text_at(kLeft, 34, words, Anchor::start, " font-size=\"17\" font-weight=\"bold\"") +
         text_at(kLeft, 54,
                 formatted("%llu steps, %.0f samples/s, %.1f %% of the time waiting",
                           static_cast<unsigned long long>(summary.steps), summary.samples_per_second,
                           100 * summary.waited_share));
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 5.0})
    if (nice * power >= rough * 0.999) {
      step = nice * power;
      break;
    }
  std::vector<double> found;
  // By whole numbers: sums of steps would drift.
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) found.push_back(i * step);
  return found;
}

std::string svg_of(const RunSummary& summary) {
  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"DejaVu Sans, Arial, sans-serif\" font-size=\"12\" fill=\"%s\">\n",
      kWidth, kHeight, kWidth, kHeight, kInk);
  svg +=
      "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"white\" "
      "stroke-width=\"2\"/></pattern></defs>\n";
  svg += box(0, 0, kWidth, kHeight, "white") + title(summary);
  svg += loss_panel(summary, 92) + throughput_panel(summary, 346) + rank_panel(summary, 574);
  return svg + "</svg>\n";
}

}  // namespace pinstep::worker
