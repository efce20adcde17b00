import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { removeFolder } from "../../src/remove-folder.ts";
import { openCluster } from "../../src/sandboxes/kubernetes/cluster/connect.ts";
import {
  type KubernetesOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import { ownerLabels } from "../../src/sandboxes/kubernetes/labels.ts";
import type { OpenPlace, Place } from "../conformance/place.ts";
import { commandLine, makeRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { sharedCluster } from "./shared-cluster.ts";

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
    pod: {
      capabilities: "00000000000001fb",
      interfaces: ["eth0"],
      isEvicted: true,
      sockets: ["@outrider-commands", "@outrider-scripts"],
    },
  },
  startMs: 8000,
  open: () => openPlace(),
};

export const kubernetesPlaces = [kubernetesPlace];

async function openPlace(options: Partial<KubernetesOptions> = {}): Promise<OpenPlace> {
  const { kubeconfig, systemImage } = await sharedCluster();
  const { root } = makeRoot();
  const owner = { installation: `test-${randomUUID()}`, worker: "worker-1" };
  const openAgain = () =>
    openKubernetesProvider({
      ...{ root, log: silent },
      kubernetes: { kubeconfig, systemImage, owner, ...options },
    });
  const provider = await openAgain();
  return {
    ...{ provider, openAgain },
    image: undefined,
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
