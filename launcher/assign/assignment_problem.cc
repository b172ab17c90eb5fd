#include "launcher/assign/assignment_problem.h"

namespace pinstep {

// The Hungarian method with potentials, which needs no more of Cost than that it is an ordered group. Rows and
// columns count from 1: column 0 is where the row that is being placed comes from.
std::vector<std::size_t> solve_assignment(const std::vector<std::vector<Cost>>& cost, std::size_t& work) {
  const std::size_t rows = cost.size();
  const std::size_t columns = rows == 0 ? 0 : cost.front().size();
  const Cost infinite{INT64_MAX / 4, 0, 0};
  std::vector<Cost> row_potential(rows + 1), column_potential(columns + 1);
  std::vector<std::size_t> row_of(columns + 1, 0), way(columns + 1, 0);
  for (std::size_t row = 1; row <= rows; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<Cost> least(columns + 1, infinite);
    std::vector<bool> used(columns + 1, false);
    do {
      work += columns;
      used[column] = true;
      const std::size_t at = row_of[column];
      Cost delta = infinite;
      std::size_t next = 0;
      for (std::size_t c = 1; c <= columns; ++c) {
        if (used[c]) continue;
        const Cost reduced = cost[at - 1][c - 1] - row_potential[at] - column_potential[c];
        if (reduced < least[c]) least[c] = reduced, way[c] = column;
        if (least[c] < delta) delta = least[c], next = c;
      }
      for (std::size_t c = 0; c <= columns; ++c) {
        if (used[c])
          row_potential[row_of[c]] += delta, column_potential[c] -= delta;
        else
          least[c] -= delta;
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = way[column]) row_of[column] = row_of[way[column]];
  }
  std::vector<std::size_t> column_of(rows);
  for (std::size_t c = 1; c <= columns; ++c)
    if (row_of[c] != 0) column_of[row_of[c] - 1] = c - 1;
  return column_of;
}

}  // namespace pinstep
