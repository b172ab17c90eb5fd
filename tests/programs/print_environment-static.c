/* Prints its environment: a program that no shared library and no interpreter has a hand in. */
#include <stdio.h>

int main(int argc, char** argv, char** environment) {
  (void)argc;
  (void)argv;
  for (; *environment != NULL; ++environment) puts(*environment);
  return 0;
}
