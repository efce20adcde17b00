#include <stdio.h>

/** The first process of every sandbox. */
int main(void) {
  fputs("outrider-init: this program is started by an Outrider worker.\n", stderr);
  return 2;
}
