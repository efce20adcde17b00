import type Docker from "dockerode";
import type { Log } from "../../log.ts";
import type { Capabilities, Capability } from "../limits.ts";
import type { Bundle } from "../sandbox.ts";
import type { DockerBases } from "./bases/docker-bases.ts";
import type { Engine } from "./engine/connect.ts";
import type { EngineDescription } from "./engine/describe.ts";
import type { Owner } from "./labels.ts";
import { ensureBundleVolume } from "./volumes/bundle-volume.ts";

/** The resources that all of a worker's sandboxes in an engine share. */
export interface SharedResources {
  engine: Engine;
  docker: Docker;
  owner: Owner;
  log: Log;
  capabilities: Capabilities;
  /** Whether user ids of images are not those of the engine's machine. */
  ids: Capability;
  seccomp: SeccompOption;
  /** The runtime of containers. Default: the engine's. */
  runtime: string | undefined;
  /** The id of the image for sandboxes without an image, and for the worker's scripts. */
  systemImage: string;
  description: EngineDescription;
  /** The programs that every sandbox has. */
  programs: Bundle;
  bases: DockerBases;
  bundleVolumes: BundleVolumes;
  /** Whether volumes can be overlays, so that sandboxes share the files of a base. */
  canOverlay: boolean;
  /** The homes of users of images, by image and user. */
  imageHomes: Map<string, string>;
}

/** The seccomp filter of containers, in the form that the engine takes. */
export interface SeccompOption {
  /** Returns the value of the option `seccomp` for a new container. Undefined without a filter. */
  value(): Promise<string | undefined>;
  /** The volume with the file, if there is one. */
  volume(): Promise<string | undefined>;
}

/** The volumes of bundles. */
export class BundleVolumes {
  readonly #options: { docker: Docker; owner: Owner; image: string };
  readonly #opening = new Map<string, Promise<string>>();

  constructor(options: { docker: Docker; owner: Owner; image: string }) {
    this.#options = options;
  }

  /** Asks the engine each time: if somebody has removed the volume, containers would silently get an empty one. */
  get(bundle: Bundle): Promise<string> {
    const opening = this.#opening.get(bundle.id);
    if (opening) return opening;
    const { docker, ...options } = this.#options;
    const opened = ensureBundleVolume(docker, { ...options, bundle }).finally(() =>
      this.#opening.delete(bundle.id),
    );
    this.#opening.set(bundle.id, opened);
    return opened;
  }
}
