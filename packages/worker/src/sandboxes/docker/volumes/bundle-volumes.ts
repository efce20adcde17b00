import type Docker from "dockerode";
import type { Owner } from "../../owner.ts";
import type { Bundle } from "../../sandbox.ts";
import type { Presence } from "../presence.ts";
import { ensureBundleVolume } from "./bundle-volume.ts";

interface BundleVolumesOptions {
  docker: Docker;
  owner: Owner;
  image: string;
  presence: Pick<Presence, "announceUse">;
}

/** The volumes of bundles. */
export class BundleVolumes {
  readonly #options: BundleVolumesOptions;
  readonly #announced = new Map<string, string>();
  readonly #opening = new Map<string, Promise<string>>();

  constructor(options: BundleVolumesOptions) {
    this.#options = options;
  }

  /** Asks the engine each time: if somebody has removed the volume, containers would silently get an empty one. */
  get(bundle: Bundle): Promise<string> {
    const opening = this.#opening.get(bundle.id);
    if (opening) return opening;
    const opened = this.#open(bundle).finally(() => this.#opening.delete(bundle.id));
    this.#opening.set(bundle.id, opened);
    return opened;
  }

  /** Another worker may be about to remove a volume that nobody has used for long. */
  async #open(bundle: Bundle): Promise<string> {
    const { docker, presence, ...options } = this.#options;
    for (;;) {
      const volume = await ensureBundleVolume(docker, { ...options, bundle });
      if (this.#announced.get(bundle.id) === volume) return volume;
      await presence.announceUse(volume);
      this.#announced.set(bundle.id, volume);
    }
  }
}
