import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { openCluster } from "../../src/sandboxes/kubernetes/cluster/connect.ts";
import {
  type KubernetesOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import { ownerLabels } from "../../src/sandboxes/kubernetes/labels.ts";
import type { OpenPlace, Place, PlacePod } from "../conformance/place.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { imageOptions } from "../images/suite-image.ts";
import { systemLayer } from "../images/system-image.ts";
import { commandLine, makeRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { expose, sharedCluster } from "./shared-cluster.ts";

const podSystem: PlacePod = {
  capabilities: "00000000000001fb",
  interfaces: ["eth0"],
  isEvicted: true,
  hasExposedConnection: false,
  sockets: ["@outrider-commands", "@outrider-scripts"],
};

/** Pods with the system of the worker's image, in a cluster that enforces network policies. */
export const kubernetesPlace: Place = {
  name: "kubernetes",
  capabilities: {
    ...{ memory: true, cpus: true, pids: false, disk: true, network: true, seccomp: true, freeze: false },
  },
  system: {
    ...{ isImage: false, user: "sandbox", uid: 1000, home: "/home/sandbox", env: {} },
    ...{
      capabilities: "0000000000000000",
      hasOtherUsers: false,
      hasOwnKernel: false,
      hasResizeSignal: true,
      findsHoles: true,
    },
    ...{ hasWritableDevices: false, hasSys: true, isWorkspaceMounted: true },
    pod: podSystem,
  },
  startMs: 8000,
  open: () => openPlace(),
};

/** Commands are root of an image. */
export const kubernetesImagePlace: Place = {
  ...kubernetesPlace,
  name: "kubernetes with an image",
  capabilities: { ids: false, ...kubernetesPlace.capabilities, images: true },
  system: {
    ...kubernetesPlace.system,
    ...{ isImage: true, user: "root", uid: 0, home: "/root", capabilities: "00000000a00005fb" },
    ...{ hasOtherUsers: true, hasWritableDevices: true },
    env: { GIT_CONFIG_SYSTEM: "/opt/outrider/gitconfig" },
    pod: { ...podSystem, capabilities: "00000000a00405fb", hasExposedConnection: true },
  },
  open: () => {
    layer ??= systemLayer({}, imageOptions());
    return openPlace({}, layer);
  },
};

/** Made once per test file. */
let layer: Buffer | undefined;

async function openPlace(options: Partial<KubernetesOptions> = {}, imageLayer?: Buffer): Promise<OpenPlace> {
  const { cluster: node, kubeconfig, systemImage, podFile } = await sharedCluster();
  const { root } = makeRoot();
  const owner = { installation: `test-${randomUUID()}`, worker: "worker-1" };
  const openAgain = () =>
    openKubernetesProvider({
      ...{ root, log: silent, exceptions: parseExceptions("127.0.0.1") },
      kubernetes: { kubeconfig, systemImage, podFile, owner, ...options },
    });
  const provider = await openAgain();
  return {
    ...{ provider, openAgain },
    image: imageLayer && (await pullSystemImage(provider, imageLayer, {}, (host) => expose(node, host))),
    processesWith: async (text: string) => processesWith(text).map(commandLine),
    async expectNoLeftovers() {
      const cluster = await openCluster({ kubeconfig });
      await until(async () => (await cluster.listPods(ownerLabels(owner))).length === 0);
    },
    async close() {
      await provider.stop();
      await removeFolder(dirname(root));
    },
  };
}
