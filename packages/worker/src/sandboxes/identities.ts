import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** The account that a sandbox's processes have on the host. */
export interface Identity {
  uid: number;
  gid: number;
}

const first = 21500;
const size = 4096;
/** Up to 58363: above begin the ranges of systemd and the uid 65534, which our PostgreSQL uses. */
const blocks = 9;

/**
 * Unprivileged accounts for a worker that is root, one for each open sandbox and never the same for two. Workers of
 * one host share no block: each holds a name in the kernel (an abstract socket), which goes when the worker does.
 */
export class Identities {
  readonly #claim: Server | undefined;
  readonly #base: number;
  readonly #taken = new Set<number>();
  #next = 0;

  private constructor(claim: Server | undefined, base: number) {
    this.#claim = claim;
    this.#base = base;
  }

  static async claim(): Promise<Identities> {
    if (process.getuid?.() !== 0) return new Identities(undefined, 0);
    for (let block = 0; block < blocks; block++) {
      const server = createServer((socket) => socket.destroy());
      try {
        server.listen(`\0outrider-sandbox-uids-${block}`);
        await once(server, "listening");
        return new Identities(server.unref(), first + block * size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      }
    }
    throw new Error(
      `There are already ${blocks} workers on this host: stop one, or run this one as an ordinary user.`,
    );
  }

  /** Undefined for an ordinary user, whose sandboxes run under the user's own uid. */
  take(): Identity | undefined {
    if (!this.#claim) return undefined;
    if (this.#taken.size === size) throw new Error(`There are already ${size} sandboxes open: close one.`);
    // The one freed longest ago comes first.
    while (this.#taken.has(this.#next)) this.#next = (this.#next + 1) % size;
    const slot = this.#next;
    this.#next = (this.#next + 1) % size;
    this.#taken.add(slot);
    return { uid: this.#base + slot, gid: this.#base + slot };
  }

  release(identity: Identity | undefined): void {
    if (identity) this.#taken.delete(identity.uid - this.#base);
  }

  close(): void {
    this.#claim?.close();
  }
}
