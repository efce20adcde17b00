import type { LimitEvents } from "../sandbox.ts";
import type { InitConnection } from "./init-connection.ts";

/** Counts how often limits have taken effect. The counts of control groups begin again with every start. */
export class LimitCounts {
  readonly #current = new Map<InitConnection, LimitEvents>();
  #outOfMemory = 0;

  /** Called when a container has ended because of its memory limit, which nobody could count any longer. */
  addOutOfMemory(): void {
    this.#outOfMemory += 1;
  }

  async read(connections: Iterable<InitConnection>): Promise<LimitEvents> {
    await Promise.all(
      [...connections].map(async (connection) => {
        const counts = await connection.countLimits();
        if (counts) this.#current.set(connection, counts);
      }),
    );
    const all = [...this.#current.values()];
    return {
      oom_kills: all.reduce((sum, each) => sum + each.oom_kills, this.#outOfMemory),
      forks_refused: all.reduce((sum, each) => sum + each.forks_refused, 0),
    };
  }
}
