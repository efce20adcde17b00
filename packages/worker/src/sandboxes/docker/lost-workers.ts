/**
 * Removes what lost workers left in an engine: those whose folder was deleted, so that they will never start again and
 * remove it themselves. Nobody tells the other workers, so they conclude it:
 *
 * - A worker creates an object in the engine every few minutes (presence.ts). A lost one has not for a day.
 * - This process has watched it for several rounds in a row. An engine that was away, and a machine that was suspended,
 *   make all workers look lost for a moment.
 * - None of its containers runs. They end at the deadline of their lease.
 *
 * A worker that was only stopped for days loses what it has saved. It notices that and fetches builds again.
 */
import type Docker from "dockerode";
import type { Log } from "../../log.ts";
import { mainWorkerOf, type Owner } from "../owner.ts";
import { isEngineError } from "./engine/errors.ts";
import { labelNames } from "./labels.ts";
import { type EngineObject, listObjects } from "./leftovers.ts";

interface LostWorkersOptions {
  docker: Docker;
  owner: Owner;
  log: Pick<Log, "info" | "warn">;
  /** How long a lost worker has created nothing. */
  lostMs?: number;
  /** How many rounds in a row it was watched before. */
  rounds?: number;
}

const dayMs = 24 * 3_600_000;
const defaultRounds = 6;

interface WorkerObjects {
  objects: EngineObject[];
  /** When the newest of them was created. */
  seenAt: number;
}

export class LostWorkers {
  readonly #options: LostWorkersOptions;
  /** How many rounds ago each worker created its newest object. */
  #unchanged = new Map<string, { seenAt: number; rounds: number }>();

  constructor(options: LostWorkersOptions) {
    this.#options = options;
  }

  /** Executes one round. This worker must have created an object just before. Returns the workers that were removed. */
  async remove(): Promise<string[]> {
    const { owner, lostMs = dayMs, rounds: minRounds = defaultRounds, log } = this.#options;
    const last = this.#unchanged;
    this.#unchanged = new Map(); // a round that fails is none
    const workers = await this.#list();
    const own = mainWorkerOf(owner.worker);
    // The engine's clock can differ from that of this machine.
    const now = workers.get(own)?.seenAt ?? Number.NaN;
    const removed: string[] = [];
    for (const [worker, { objects, seenAt }] of workers) {
      if (worker === own) continue;
      const before = last.get(worker);
      const rounds = before?.seenAt === seenAt ? before.rounds + 1 : 0;
      this.#unchanged.set(worker, { seenAt, rounds });
      if (!(now - seenAt > lostMs) || rounds < minRounds || objects.some(({ isRunning }) => isRunning))
        continue;
      if (await this.#removeWorker(worker, { objects, seenAt })) removed.push(worker);
    }
    if (removed.length > 0) log.info({ workers: removed }, "removed sandboxes of lost workers");
    return removed;
  }

  async #list(): Promise<Map<string, WorkerObjects>> {
    const { docker, owner } = this.#options;
    const workers = new Map<string, WorkerObjects>();
    for (const object of await listObjects(docker, { [labelNames.installation]: owner.installation })) {
      const worker = object.labels[labelNames.worker];
      if (worker === undefined) continue; // it is shared
      const { objects = [], seenAt = 0 } = workers.get(mainWorkerOf(worker)) ?? {};
      workers.set(mainWorkerOf(worker), {
        objects: [...objects, object],
        seenAt: Math.max(seenAt, object.createdAt),
      });
    }
    return workers;
  }

  /** Stops if the worker is there again. Returns whether everything was removed. */
  async #removeWorker(worker: string, { objects, seenAt }: WorkerObjects): Promise<boolean> {
    const { docker, log } = this.#options;
    // The newest image first, because it can be based on another one.
    const sorted = objects.toSorted((a, b) => b.createdAt - a.createdAt);
    const inOrder = (["containers", "volumes", "images"] as const).flatMap((type) =>
      sorted.filter((object) => object.type === type),
    );
    for (const { type, id } of inOrder) {
      try {
        if (((await this.#list()).get(worker)?.seenAt ?? 0) > seenAt) return false;
        // Without force, an engine removes only what is not in use.
        if (type === "containers") await docker.getContainer(id).remove({ v: true });
        else if (type === "volumes") await docker.getVolume(id).remove();
        else await docker.getImage(id).remove();
      } catch (error) {
        if (isEngineError(error, "not_found", "image_not_found")) continue;
        log.warn({ id, error }, "failed to remove objects of a lost worker");
        return false;
      }
    }
    return true;
  }
}
