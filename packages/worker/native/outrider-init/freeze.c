#include "init.h"

#include <signal.h>

/**
 * Stops all processes of the sandbox except init, which therefore still ends them at the deadline and when the worker
 * exits. The freezer of control groups would stop init too. A signal to all processes is atomic: no process can fork
 * without getting it.
 */

static bool has_frozen;

bool is_frozen(void) { return has_frozen; }

void freeze(uint32_t id) {
  has_frozen = true;
  kill(-1, SIGSTOP);
  send_frame(DONE, id, NULL, 0);
}

void thaw(uint32_t id) {
  has_frozen = false;
  kill(-1, SIGCONT);
  send_frame(DONE, id, NULL, 0);
}

/** Called when all processes are being killed. The next ones are not stopped. */
void end_freeze(void) { has_frozen = false; }
