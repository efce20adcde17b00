/**
 * A pod that the network policy of sandboxes does not select, with the worker's image on the same nodes. It has none of the
 * operator's labels, because a policy may select sandboxes by them. It has no rights, and runs for some seconds.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { labelNames, networkProbeComponent, ownerLabels } from "../labels.ts";
import { readPodState } from "../pods/pod-state.ts";
import type { SharedResources } from "../shared-resources.ts";
import { scriptContainer } from "./pod-scripts.ts";

const startMs = 60_000;
/** The pod ends by itself if the worker cannot remove it. */
const maxSeconds = 300;
const waitMs = 200;

export async function startControlPod(shared: SharedResources): Promise<{ name: string } & AsyncDisposable> {
  const { cluster, log } = shared;
  const name = `outrider-network-probe-${randomUUID()}`;
  const remove = async () => {
    await cluster.deletePod(name).catch((error) => {
      log.warn({ pod: name, error }, "failed to remove the pod that tests the network");
    });
  };
  await cluster.createPod(describeControlPod(shared, name));
  try {
    const giveUpAt = performance.now() + startMs;
    for (;;) {
      const state = readPodState(await cluster.readPod(name), scriptContainer);
      if (state.phase === "running") return { name, [Symbol.asyncDispose]: remove };
      if (state.phase === "ended") throw state.error;
      if (performance.now() > giveUpAt)
        throw state.problem ?? new Error("the pod that tests the network did not start within 60 s");
      await delay(waitMs);
    }
  } catch (error) {
    await remove();
    throw error;
  }
}

function describeControlPod(
  { owner, ownerReference, systemImage, podOptions }: SharedResources,
  name: string,
): V1Pod {
  const { labels, annotations, hostUsers, ...options } = podOptions;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: { ...ownerLabels(owner), [labelNames.component]: networkProbeComponent },
      ...(annotations ? { annotations } : {}),
      ...(ownerReference ? { ownerReferences: [ownerReference] } : {}),
    },
    spec: {
      ...options,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: maxSeconds,
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: 65_534, runAsGroup: 65_534 },
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          ...{ name: scriptContainer, image: systemImage, imagePullPolicy: "IfNotPresent" },
          command: ["/bin/sleep", String(maxSeconds)],
          resources: {
            limits: { cpu: "500m", memory: "256Mi" },
            requests: { cpu: "10m", memory: "32Mi" },
          },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}
