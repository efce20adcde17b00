import { createHash } from "node:crypto";
import { chmodSync, existsSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Capability } from "../limits.ts";
import { buildSeccompFilter } from "./build-filter.ts";

/** Stores the seccomp filter in a file, because each bubblewrap process reads it from an open file. */
export class SeccompFilterFile {
  readonly capability: Capability;
  readonly #path: string | undefined;

  constructor(root: string) {
    const program = buildSeccompFilter();
    this.capability = program
      ? { enforced: true, by: "seccomp" }
      : { enforced: false, reason: `There is no seccomp filter for the ${process.arch} architecture.` };
    if (!program) return;
    // The name contains a hash, because a worker of another version may still be using its own filter.
    const hash = createHash("sha256").update(program).digest("hex").slice(0, 12);
    this.#path = join(root, `.seccomp-${hash}`);
    if (existsSync(this.#path)) return;
    const draft = `${this.#path}.${process.pid}`;
    writeFileSync(draft, program);
    chmodSync(draft, 0o444);
    renameSync(draft, this.#path);
  }

  /** Returns a file descriptor for one command, or undefined if there is no filter. */
  open(): number | undefined {
    return this.#path === undefined ? undefined : openSync(this.#path, "r");
  }
}
