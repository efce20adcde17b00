import type Docker from "dockerode";
import type { ProcessKind } from "../../systems/command-system.ts";
import { EngineError, isEngineError } from "../engine/errors.ts";
import { type ContainerSpec, describeContainer, type VolumeMount } from "./container-spec.ts";

/** How to create one of the containers. */
export interface ContainerPlan {
  name: string;
  spec: ContainerSpec;
  /** The files that the container has from the beginning, as an archive for its root folder. */
  files: Buffer;
  /** Whether it contains changes that another container would lack. */
  isUnique: boolean;
}

/**
 * The two containers of a sandbox. Each is created on first use and stays until the sandbox is closed, so that its files
 * survive the end of its processes.
 */
export class SandboxContainers {
  readonly #docker: Docker;
  readonly #plans: Record<ProcessKind, ContainerPlan>;
  readonly #created = new Map<ProcessKind, Promise<Docker.Container>>();

  #ownImage: string | undefined;

  constructor(docker: Docker, plans: Record<ProcessKind, ContainerPlan>) {
    this.#docker = docker;
    this.#plans = plans;
  }

  /** The image of the container for commands. */
  get image(): string {
    return this.#plans.commands.spec.image;
  }

  /** The image that belongs to this sandbox, if there is one. */
  get ownImage(): string | undefined {
    return this.#ownImage;
  }

  /** Replaces the image and the mounts of the container for commands, which must not exist yet. */
  setImage(image: string, mounts: VolumeMount[]): void {
    if (this.#created.size > 0) throw new Error("The sandbox has run commands already.");
    const { spec } = this.#plans.commands;
    const others = spec.mounts.filter(({ readOnly }) => readOnly);
    this.#ownImage = image;
    this.#plans.commands.spec = { ...spec, image, mounts: [...mounts, ...others] };
  }

  /** Creates the container, unless it exists. One that somebody has removed is created again if nothing is lost. */
  async get(kind: ProcessKind): Promise<Docker.Container> {
    const known = this.#created.get(kind);
    if (!known) return await this.#create(kind);
    const container = await known;
    try {
      await container.inspect();
      return container;
    } catch (error) {
      if (!isEngineError(error, "not_found")) throw error;
    }
    if (this.#plans[kind].isUnique)
      throw new EngineError(
        "container_stopped",
        "Somebody has removed the container of the sandbox, with the changes to its system. Start the run again.",
      );
    this.#created.delete(kind);
    return await this.#create(kind);
  }

  /** The container for commands, if it was created. */
  async existing(kind: ProcessKind): Promise<Docker.Container | undefined> {
    return await this.#created.get(kind)?.catch(() => undefined);
  }

  async remove(): Promise<void> {
    await this.#forEach((container) => container.remove({ force: true, v: true }));
    this.#created.clear();
  }

  #create(kind: ProcessKind): Promise<Docker.Container> {
    const created = this.#createInOrder(kind);
    this.#created.set(kind, created);
    created.catch(() => this.#created.delete(kind)); // the next command tries again
    return created;
  }

  /** The container for commands gives the new volumes their owners. */
  async #createInOrder(kind: ProcessKind): Promise<Docker.Container> {
    if (kind === "scripts") await (this.#created.get("commands") ?? this.#create("commands"));
    return await this.#createNow(this.#plans[kind]);
  }

  async #createNow({ name, spec, files }: ContainerPlan): Promise<Docker.Container> {
    const container = await this.#docker.createContainer({ name, ...describeContainer(spec) });
    try {
      await container.putArchive(files, { path: "/" });
      return container;
    } catch (error) {
      await container.remove({ force: true, v: true }).catch(() => {}); // the first failure is reported
      throw error;
    }
  }

  async #forEach(action: (container: Docker.Container) => Promise<unknown>): Promise<void> {
    const containers = await Promise.all(
      [...this.#created.values()].map((each) => each.catch(() => undefined)),
    );
    await Promise.all(
      containers.map(async (container) => {
        try {
          if (container) await action(container);
        } catch (error) {
          if (!isEngineError(error, "not_found")) throw error; // somebody has removed it
        }
      }),
    );
  }
}
