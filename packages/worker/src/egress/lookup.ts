import { lookup as systemLookup } from "node:dns/promises";

/** All addresses of a name. */
export type Lookup = (name: string) => Promise<string[]>;

/** Runs one task after another, in the order in which they came. */
class Line {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Whoever asked has given up by then. */
const staleAfterMs = 10_000;
const everyone = new Line();

/**
 * The system's resolver, one question at a time and each sandbox in turn. A question holds a thread of the two that Node
 * gives to resolving, for as long as the answer takes; a sandbox that asks for names which nobody answers would
 * otherwise hold both, and the worker could not find its server.
 */
export function fairLookup(ask: Lookup = askSystem): Lookup {
  const mine = new Line();
  const asked = new Map<string, Promise<string[]>>();

  async function askInTime(name: string, since: number): Promise<string[]> {
    if (performance.now() - since > staleAfterMs) throw new Error("nobody waits for this answer any more");
    return ask(name);
  }

  return (name) => {
    const running = asked.get(name);
    if (running) return running;
    const since = performance.now();
    const answer = mine
      .run(() => everyone.run(() => askInTime(name, since)))
      .finally(() => asked.delete(name));
    asked.set(name, answer);
    return answer;
  };
}

async function askSystem(name: string): Promise<string[]> {
  const found = await systemLookup(name, { all: true });
  return found.map(({ address }) => address);
}
