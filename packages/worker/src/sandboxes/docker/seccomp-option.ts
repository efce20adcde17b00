/**
 * How containers get the seccomp filter. Docker takes the filter itself. Podman 4 and 5 take the path of a file on the
 * engine's machine, so a volume with the filter as its only file is made there.
 */
import { join } from "node:path";
import type Docker from "dockerode";
import type { Owner } from "../owner.ts";
import { storeBundle } from "../store-bundle.ts";
import { isEngineError } from "./engine/errors.ts";
import { probeLabels } from "./labels.ts";
import type { BundleVolumes } from "./volumes/bundle-volumes.ts";
import { mountpointOf } from "./volumes/sandbox-volumes.ts";

export interface SeccompOption {
  /** Returns the value of the option `seccomp` for a new container. Undefined without a filter. */
  value(): Promise<string | undefined>;
  /** The volume with the file, if there is one. */
  volume(): Promise<string | undefined>;
}

interface Engine {
  docker: Docker;
  owner: Owner;
  systemImage: string;
}

/** `folder`: a folder of the worker for the file. */
export async function prepareSeccomp(
  engine: Engine,
  {
    profile,
    folder,
    bundleVolumes,
  }: { profile: string | undefined; folder: string; bundleVolumes: BundleVolumes },
): Promise<SeccompOption> {
  if (profile === undefined || (await acceptsProfile(engine)))
    return { value: async () => profile, volume: async () => undefined };
  const name = "seccomp.json";
  const bundle = storeBundle(folder, "/", [{ name, content: Buffer.from(profile) }]);
  const volume = () => bundleVolumes.get(bundle);
  return { value: async () => join(await mountpointOf(engine.docker, await volume()), name), volume };
}

/** Engines that expect a path try to open it when the container is created. */
async function acceptsProfile({ docker, owner, systemImage }: Engine): Promise<boolean> {
  try {
    const container = await docker.createContainer({
      ...{ Image: systemImage, Cmd: ["none"], Labels: probeLabels(owner) },
      HostConfig: { NetworkMode: "none", SecurityOpt: ['seccomp={"defaultAction":"SCMP_ACT_ALLOW"}'] },
    });
    await container.remove({ force: true });
    return true;
  } catch (error) {
    if (isEngineError(error, "unreachable", "timeout")) throw error;
    return false;
  }
}
