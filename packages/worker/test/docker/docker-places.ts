import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { type DockerOptions, openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import type { OpenPlace, Place } from "../conformance/place.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { imageOptions } from "../images/suite-image.ts";
import { systemLayer } from "../images/system-image.ts";
import { commandLine, makeRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { sharedDocker } from "./shared-docker.ts";

/** Docker with the system that the worker makes of its own programs. */
export const dockerPlace: Place = {
  name: "docker",
  capabilities: {
    ...{ memory: true, cpus: true, pids: true, disk: false, network: true, seccomp: true, freeze: true },
  },
  system: {
    ...{ isImage: false, user: "sandbox", uid: 1000, home: "/home/sandbox", env: {} },
    ...{ capabilities: "0000000000000000", hasOtherUsers: false },
    ...{ hasWritableDevices: false, hasSys: true, isWorkspaceMounted: true },
  },
  startMs: 4000,
  open: () => openPlace(),
};

/** An engine that cannot mount overlays, so that bases are copied. */
export const dockerCopiesPlace: Place = {
  ...dockerPlace,
  name: "docker without overlays",
  open: () => openPlace(undefined, { canOverlay: false }),
};

/** Docker with an image, in which commands are root. */
export const dockerImagePlace: Place = {
  ...dockerPlace,
  name: "docker with an image",
  capabilities: { ...dockerPlace.capabilities, images: true, ids: false },
  system: {
    ...{ isImage: true, user: "root", uid: 0, home: "/root" },
    ...{ capabilities: "00000000a00025fb", hasOtherUsers: true },
    ...{ hasWritableDevices: true, hasSys: true, isWorkspaceMounted: true },
    env: { GIT_CONFIG_SYSTEM: "/opt/outrider/gitconfig" },
  },
  open: () => {
    layer ??= systemLayer({}, imageOptions());
    return openPlace(layer);
  },
};

/** The same in all test files of a machine, so that the default system is made once. */
const installation = "conformance";

/** Made once per test file. */
let layer: Buffer | undefined;

export const dockerPlaces = [dockerPlace, dockerImagePlace];

async function openPlace(imageLayer?: Buffer, options: DockerOptions = {}): Promise<OpenPlace> {
  const host = await sharedDocker();
  const { root } = makeRoot();
  const owner = { installation: `test-${installation}`, worker: randomUUID() };
  const openAgain = () =>
    openDockerProvider({
      ...{ root, log: silent, exceptions: parseExceptions("127.0.0.1") },
      docker: { engine: { host }, owner, ...options },
    });
  const provider = await openAgain();
  return {
    ...{ provider, openAgain },
    image: imageLayer && (await pullSystemImage(provider, imageLayer)),
    processesWith: async (text: string) => processesWith(text).map(commandLine),
    expectNoLeftovers: () => until(async () => (await leftoversOf(host, owner.worker)).length === 0),
    async close() {
      await provider.stop();
      await removeFolder(dirname(root));
    },
  };
}

/** Returns what the engine and this machine have of a worker's sandboxes. */
export async function leftoversOf(host: string, worker: string): Promise<string[]> {
  const { docker } = await openEngine({ host });
  const filters = JSON.stringify(labelFilters({ [labelNames.worker]: worker }));
  const [containers, { Volumes }, images] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
    docker.listImages({ all: true, filters }),
  ]);
  return [
    ...containers.map(({ Names }) => `container ${Names[0]}`),
    ...(Volumes ?? []).map(({ Name }) => `volume ${Name}`),
    ...images.map(({ Id }) => `image ${Id}`),
  ];
}
