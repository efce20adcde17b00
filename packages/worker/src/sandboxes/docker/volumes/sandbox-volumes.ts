import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { removeVolume } from "./remove-volume.ts";

type Labels = Record<string, string>;

/** Creates the volumes of one owner and remembers which to remove. */
export class SandboxVolumes {
  readonly #docker: Docker;
  readonly #prefix: string;
  readonly #labels: Labels;
  readonly #disk_mb: number | undefined;
  readonly #names = new Set<string>();

  /** `prefix`: what the names begin with. `disk_mb`: how much each volume can contain. */
  constructor(
    docker: Docker,
    { prefix, labels, disk_mb }: { prefix: string; labels: Labels; disk_mb?: number | undefined },
  ) {
    this.#docker = docker;
    this.#prefix = prefix;
    this.#labels = labels;
    this.#disk_mb = disk_mb;
  }

  async create(kind: string): Promise<string> {
    return await this.#create(kind, this.#disk_mb === undefined ? {} : { size: `${this.#disk_mb}M` });
  }

  async #create(kind: string, options: Record<string, string>): Promise<string> {
    const name = `${this.#prefix}-${kind}-${randomUUID().slice(0, 8)}`;
    this.#names.add(name);
    await this.#docker.createVolume({
      Name: name,
      Labels: this.#labels,
      Driver: "local",
      DriverOpts: options,
    });
    return name;
  }

  /** Creates a volume that is an overlay of folders of the engine's machine. */
  async createOverlay(kind: string, layers: { lower: string; upper: string; work: string }): Promise<string> {
    const { lower, upper, work } = layers;
    // A renamed folder must be copied rather than stored as a reference to its old name, because snapshots compare names.
    const o = `lowerdir=${lower},upperdir=${upper},workdir=${work},redirect_dir=off,metacopy=off`;
    return await this.#create(kind, { type: "overlay", device: "overlay", o });
  }

  /** Creates a volume that is a folder of another volume. */
  async createBind(kind: string, folder: string): Promise<string> {
    return await this.#create(kind, { type: "none", device: folder, o: "bind" });
  }

  /** Leaves a volume to another owner. */
  release(name: string): void {
    this.#names.delete(name);
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#names].map((name) => removeVolume(this.#docker, name)));
    this.#names.clear();
  }
}

/** Returns the path of a volume on the engine's machine. */
export async function mountpointOf(docker: Docker, name: string): Promise<string> {
  return (await docker.getVolume(name).inspect()).Mountpoint;
}
