import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "../../packages/worker/src/sandboxes/kubernetes/cluster/connect.ts";

const container = "main";
const POLL_MS = 10;

/** Creates a pod that waits, without limits and without anything of ours, and waits until it runs. Returns its name. */
export async function startBarePod(cluster: Cluster, image: string): Promise<string> {
  const name = `bare-${randomUUID()}`;
  await cluster.createPod({
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [
        { name: container, image, imagePullPolicy: "IfNotPresent", command: ["sleep", "1000000"] },
      ],
    },
  });
  while ((await cluster.readPod(name))?.status?.phase !== "Running") await delay(POLL_MS);
  return name;
}

/** Runs a command as programs do that need its output. Returns its output. */
export async function execBare(cluster: Cluster, pod: string, command: string): Promise<string> {
  const stream = await cluster.exec(pod, container, ["/bin/sh", "-c", command]);
  stream.end();
  const output = await text(stream);
  if (stream.problem !== undefined) throw new Error(`${command}: ${stream.problem}`);
  return output;
}
