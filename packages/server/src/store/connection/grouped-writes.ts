import { type Db, isUnreachable, type Sql } from "./db.ts";

/*
 * Groups writes of the same kind: creating runs, and ending turns. A group consists of the items of one turn of the event loop,
 * and is one statement. While a group is being written, further items wait and form the next group. So a busy server executes
 * and commits one statement for many runs, and an idle one writes each at once.
 *
 * Callers that wait for the result of one item before they send the next would form two groups that alternate. A group
 * therefore waits until it has as many items as were written or waiting when the previous one ended, but for GATHER_MS at most.
 * A caller that is alone never waits.
 *
 * An item that a group could not write without waiting for a lock is written alone. So is every item of a group that failed, so
 * that what is wrong with one does not affect the others. If the connection is lost, the group may or may not have been
 * written, and all of its callers get the error, as they would without a group.
 */

const MAX_GROUP = 64;
const GATHER_MS = 8;

export interface GroupedWrite<Item, Result> {
  /** Items with different kinds are not in the same group. */
  kindOf?(item: Item): string;
  /**
   * Writes items in one statement, and returns the results in the same order. Unless it waits for locks, an item that is locked
   * is not written, and its result is undefined.
   */
  write(sql: Sql, items: Item[], options: { waits: boolean }): Promise<(Result | undefined)[]>;
}

interface Waiting {
  item: unknown;
  kind: string;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

const writersByPool = new WeakMap<Db, Map<GroupedWrite<never, unknown>, Writer>>();

/** Writes an item, together with others if `sql` is a pool. */
export async function writeGrouped<Item, Result>(
  sql: Sql,
  grouped: GroupedWrite<Item, Result>,
  item: Item,
): Promise<Result> {
  if (!("begin" in sql)) return writeAlone(sql, grouped, item);
  const writers = writersByPool.get(sql) ?? new Map();
  writersByPool.set(sql, writers);
  const writer = writers.get(grouped) ?? new Writer(sql, grouped as GroupedWrite<unknown, unknown>);
  writers.set(grouped, writer);
  return writer.write(item) as Promise<Result>;
}

async function writeAlone<Item, Result>(
  sql: Sql,
  grouped: GroupedWrite<Item, Result>,
  item: Item,
): Promise<Result> {
  const [result] = await grouped.write(sql, [item], { waits: true });
  if (result === undefined) throw new Error("A write that waits for locks has no result.");
  return result;
}

class Writer {
  readonly #db: Db;
  readonly #grouped: GroupedWrite<unknown, unknown>;
  #waiting: Waiting[] = [];
  /** True while a group is being collected or written. */
  #isBusy = false;
  /** How many callers wrote at the same time lately, and until when a group waits for as many. */
  #expected = 0;
  #gatherUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Db, grouped: GroupedWrite<unknown, unknown>) {
    this.#db = db;
    this.#grouped = grouped;
  }

  write(item: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, kind: this.#grouped.kindOf?.(item) ?? "", resolve, reject });
      this.#next();
    });
  }

  #next() {
    if (this.#isBusy || this.#waiting.length === 0) return;
    const gatherMs = this.#waiting.length < this.#expected ? this.#gatherUntil - performance.now() : 0;
    if (gatherMs > 0) {
      this.#timer ??= setTimeout(() => {
        this.#expected = 0;
        this.#timer = undefined;
        this.#next();
      }, gatherMs);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isBusy = true;
    setImmediate(async () => {
      const group = this.#takeGroup();
      await this.#writeGroup(group);
      this.#expected = Math.min(group.length + this.#waiting.length, MAX_GROUP);
      this.#gatherUntil = performance.now() + GATHER_MS;
      this.#isBusy = false;
      this.#next();
    });
  }

  /** Takes the oldest item and others of its kind. */
  #takeGroup(): Waiting[] {
    const [first] = this.#waiting;
    const group = this.#waiting.filter(({ kind }) => kind === first?.kind).slice(0, MAX_GROUP);
    this.#waiting = this.#waiting.filter((waiting) => !group.includes(waiting));
    return group;
  }

  async #writeGroup(group: Waiting[]): Promise<void> {
    let results: unknown[] = [];
    try {
      const items = group.map(({ item }) => item);
      results = await this.#grouped.write(this.#db, items, { waits: false });
    } catch (error) {
      if (isUnreachable(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
    }
    group.forEach((waiting, index) => {
      if (results[index] === undefined) void this.#writeAlone(waiting);
      else waiting.resolve(results[index]);
    });
  }

  async #writeAlone({ item, resolve, reject }: Waiting): Promise<void> {
    await writeAlone(this.#db, this.#grouped, item).then(resolve, reject);
  }
}
