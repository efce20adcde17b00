import { createHash } from "node:crypto";
import { chmodSync, existsSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Capability } from "../limits.ts";
import { seccompFilter } from "./seccomp.ts";

/** The filter of system calls as a file, since each bubblewrap reads it from its beginning. */
export class Filter {
  readonly capability: Capability;
  readonly #path: string | undefined;

  constructor(root: string) {
    const program = seccompFilter();
    this.capability = program
      ? { enforced: true, by: "seccomp" }
      : { enforced: false, reason: `There is no filter for the processor ${process.arch} yet.` };
    if (!program) return;
    // Another version's has another name: its worker may still be at work.
    const hash = createHash("sha256").update(program).digest("hex").slice(0, 12);
    this.#path = join(root, `.seccomp-${hash}`);
    if (existsSync(this.#path)) return;
    const draft = `${this.#path}.${process.pid}`;
    writeFileSync(draft, program);
    chmodSync(draft, 0o444);
    renameSync(draft, this.#path);
  }

  /** A file descriptor for one command; undefined where there is no filter. */
  open(): number | undefined {
    return this.#path === undefined ? undefined : openSync(this.#path, "r");
  }
}
