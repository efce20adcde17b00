import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { afterAll } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import type { OpenPlace, Place } from "../conformance/place.ts";
import { commandLine, makeRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { startDocker, type TestEngine } from "./test-engine.ts";

/** One engine for all tests of a file, because it takes seconds to start. */
let engine: Promise<TestEngine> | undefined;
afterAll(async () => (await engine)?.stop());

export function getEngine(): Promise<TestEngine> {
  engine ??= startDocker();
  return engine;
}

/** Docker with the system that the worker makes of its own programs. */
export const dockerPlace: Place = {
  name: "docker",
  capabilities: {
    ...{ memory: true, cpus: true, pids: true, disk: false, network: true, seccomp: true, freeze: true },
  },
  system: {
    ...{ isImage: false, user: "sandbox", uid: 1000, home: "/home/sandbox", env: {} },
    ...{ capabilities: "0000000000000000", hasOtherUsers: false },
  },
  startMs: 4000,
  open: () => openPlace(),
};

export const dockerPlaces = [dockerPlace];

async function openPlace(): Promise<OpenPlace> {
  const { host } = await getEngine();
  const { root } = makeRoot();
  const owner = { installation: randomUUID(), worker: randomUUID() };
  const openAgain = () => openDockerProvider({ root, log: silent, docker: { engine: { host }, owner } });
  const provider = await openAgain();
  return {
    ...{ provider, openAgain, image: undefined },
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
