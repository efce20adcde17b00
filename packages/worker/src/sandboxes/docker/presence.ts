/**
 * Tells the other workers of an installation that this worker uses the engine, and which shared objects it needs. Engines
 * cannot change the labels of an object, so the worker creates a new, empty volume every few minutes and removes the last.
 *
 * The volume remains when the worker stops, because a worker that starts again continues to use what it has saved.
 */
import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { mainWorkerOf, type Owner } from "../owner.ts";
import { labelFilters, labelNames, sandboxObjectName } from "./labels.ts";
import { removeVolume } from "./volumes/remove-volume.ts";

export const presenceKind = "presence";

export class Presence {
  readonly #docker: Docker;
  readonly #owner: Owner;
  readonly #uses = new Set<string>();
  #volume: string | undefined;
  #lastUpdate: Promise<unknown> = Promise.resolve();

  /** The processes of isolated runs speak for their worker. */
  constructor(docker: Docker, owner: Owner) {
    this.#docker = docker;
    this.#owner = { ...owner, worker: mainWorkerOf(owner.worker) };
  }

  /** Keeps other workers from removing these shared volumes and images, as long as this process exists. */
  async announceUse(...names: string[]): Promise<void> {
    const added = names.filter((name) => !this.#uses.has(name));
    if (added.length === 0) return;
    for (const name of added) this.#uses.add(name);
    await this.refresh();
  }

  /** Says that this worker is still there. */
  async refresh(): Promise<void> {
    const update = this.#lastUpdate.then(() => this.#replace());
    this.#lastUpdate = update.catch(() => {});
    await update;
  }

  /** Removes what earlier processes of this worker have said. Must not be called by the process of an isolated run. */
  async removeEarlier(): Promise<void> {
    await this.#lastUpdate;
    const filters = labelFilters({
      [labelNames.worker]: this.#owner.worker,
      [labelNames.kind]: presenceKind,
    });
    const { Volumes: volumes } = await this.#docker.listVolumes({ filters: JSON.stringify(filters) });
    for (const { Name } of volumes ?? []) if (Name !== this.#volume) await removeVolume(this.#docker, Name);
  }

  /** Must not be called before the process ends. */
  async remove(): Promise<void> {
    await this.#lastUpdate;
    if (this.#volume !== undefined) await removeVolume(this.#docker, this.#volume);
  }

  async #replace(): Promise<void> {
    const { installation, worker } = this.#owner;
    const last = this.#volume;
    const volume = sandboxObjectName(this.#owner, { sandbox: presenceKind, kind: randomUUID() });
    await this.#docker.createVolume({
      Name: volume,
      Labels: {
        [labelNames.installation]: installation,
        [labelNames.worker]: worker,
        [labelNames.kind]: presenceKind,
        [labelNames.uses]: JSON.stringify([...this.#uses]),
      },
    });
    this.#volume = volume;
    if (last !== undefined) await removeVolume(this.#docker, last);
  }
}

/** Returns the names of the shared volumes and images that workers have announced to use. */
export function parseUses(labels: Record<string, string>): string[] {
  try {
    const uses: unknown = JSON.parse(labels[labelNames.uses] ?? "[]");
    return Array.isArray(uses) ? uses.filter((use) => typeof use === "string") : [];
  } catch {
    return [];
  }
}
