import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { type DockerOptions, openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import { presenceKind } from "../../src/sandboxes/docker/presence.ts";
import type { OpenPlace, Place } from "../conformance/place.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { imageOptions } from "../images/suite-image.ts";
import { systemLayer } from "../images/system-image.ts";
import { commandLine, makeRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { engineProblem } from "./test-engine.ts";

/** Two places for a container engine: with the system that the worker makes of its own programs, and with an image. */
export interface EnginePlaces {
  plain: Place;
  withImage: Place;
}

export interface EngineUnderTest {
  /** Part of the names of the tests. */
  name: string;
  /** Returns its address, as in DOCKER_HOST. Starts it first, if necessary. */
  host(): Promise<string>;
  options?: DockerOptions;
  /** The differences from Docker with its default runtime. */
  capabilities?: Place["capabilities"];
  system?: Partial<Place["system"]>;
  /** Those of root of an image. */
  imageCapabilities?: string;
  startMs?: number;
  processesWith?(host: string, worker: string, text: string): Promise<string[]>;
}

export function describeEnginePlaces(engine: EngineUnderTest): EnginePlaces {
  const plain: Place = {
    ...{ name: engine.name, problem: engineProblem },
    capabilities: {
      ...{ memory: true, cpus: true, pids: true, disk: false, network: true, seccomp: true, freeze: true },
      ...engine.capabilities,
    },
    system: {
      ...{ isImage: false, user: "sandbox", uid: 1000, home: "/home/sandbox", env: {} },
      ...{ capabilities: "0000000000000000", hasOtherUsers: false, hasOwnKernel: false },
      ...{
        hasWritableDevices: false,
        hasSys: true,
        isWorkspaceMounted: true,
        hasResizeSignal: true,
        findsHoles: true,
      },
      ...engine.system,
    },
    startMs: engine.startMs ?? 4000,
    open: () => openPlace(engine),
  };
  return {
    plain,
    /** Commands are root. */
    withImage: {
      ...plain,
      name: `${engine.name} with an image`,
      capabilities: { ids: false, ...plain.capabilities, images: true },
      system: {
        ...plain.system,
        ...{ isImage: true, user: "root", uid: 0, home: "/root" },
        capabilities: engine.imageCapabilities ?? "00000000a00025fb",
        ...{ hasOtherUsers: true, hasWritableDevices: true },
        env: { GIT_CONFIG_SYSTEM: "/opt/outrider/gitconfig" },
      },
      open: () => {
        layer ??= systemLayer({}, imageOptions());
        return openPlace(engine, layer);
      },
    },
  };
}

/** The same in all test files of a machine, so that the default system is made once. */
const installation = "conformance";

/** Made once per test file. */
let layer: Buffer | undefined;

async function openPlace(engine: EngineUnderTest, imageLayer?: Buffer): Promise<OpenPlace> {
  const host = await engine.host();
  const { root } = makeRoot();
  const owner = { installation: `test-${installation}`, worker: randomUUID() };
  const openAgain = () =>
    openDockerProvider({
      ...{ root, log: silent, exceptions: parseExceptions("127.0.0.1") },
      docker: { engine: { host }, owner, ...engine.options },
    });
  const provider = await openAgain();
  return {
    ...{ provider, openAgain },
    image: imageLayer && (await pullSystemImage(provider, imageLayer)),
    processesWith: async (text: string) =>
      (await engine.processesWith?.(host, owner.worker, text)) ?? processesWith(text).map(commandLine),
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
  const ofSandboxes = (Volumes ?? []).filter(({ Labels }) => Labels[labelNames.kind] !== presenceKind);
  return [
    ...containers.map(({ Names }) => `container ${Names[0]}`),
    ...ofSandboxes.map(({ Name }) => `volume ${Name}`),
    ...images.map(({ Id }) => `image ${Id}`),
  ].sort();
}
