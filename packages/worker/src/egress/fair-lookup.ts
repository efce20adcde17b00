import { lookup as systemLookup } from "node:dns/promises";

/** Returns all addresses of a name. */
export type Lookup = (name: string) => Promise<string[]>;

/** Runs tasks one at a time, in order. */
class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** A lookup that was queued for longer than this is not started, because its caller has given up. */
const staleAfterMs = 10_000;
const globalQueue = new SerialQueue();

/**
 * Creates a lookup for one sandbox. Lookups run one at a time, alternating between sandboxes. Each lookup occupies one
 * of the two threads that Node uses for DNS until the answer arrives. Without this limit, a sandbox could occupy both
 * threads with names whose DNS servers never answer, and the worker could not resolve its own server's name.
 */
export function createFairLookup(lookup: Lookup = lookupInSystem): Lookup {
  const ownQueue = new SerialQueue();
  const pending = new Map<string, Promise<string[]>>();

  async function lookupUnlessStale(name: string, since: number): Promise<string[]> {
    if (performance.now() - since > staleAfterMs) throw new Error("the lookup was queued for too long");
    return lookup(name);
  }

  return (name) => {
    const running = pending.get(name);
    if (running) return running;
    const since = performance.now();
    const addresses = ownQueue
      .run(() => globalQueue.run(() => lookupUnlessStale(name, since)))
      .finally(() => pending.delete(name));
    pending.set(name, addresses);
    return addresses;
  };
}

async function lookupInSystem(name: string): Promise<string[]> {
  const found = await systemLookup(name, { all: true });
  return found.map(({ address }) => address);
}
