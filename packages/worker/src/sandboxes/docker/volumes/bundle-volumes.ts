import type Docker from "dockerode";
import type { Owner } from "../../owner.ts";
import type { Bundle } from "../../sandbox.ts";
import { ensureBundleVolume } from "./bundle-volume.ts";

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
