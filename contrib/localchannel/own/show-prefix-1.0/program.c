#include <stdio.h>

extern const char show_prefix[];
extern const char show_prefix_list[];

int main(void) {
  puts(show_prefix);
  puts(show_prefix_list);
  return 0;
}
