import type { V1Pod } from "@kubernetes/client-node";
import { expect, test, vi } from "vitest";
import { labelNames, networkProbeComponent, sandboxMetadata } from "../../src/sandboxes/kubernetes/labels.ts";
import { reap, removeSandboxes } from "../../src/sandboxes/kubernetes/reap.ts";

const owner = { installation: "i", worker: "w", formerInstallations: ["w"] };

function pod(sandbox: string, worker = "w", installation = "i"): V1Pod {
  return {
    metadata: { ...sandboxMetadata({ installation, worker }, { sandbox, label: {} }), name: sandbox },
  };
}

function makeCluster(pods: V1Pod[]) {
  const listPods = async (labels: Record<string, string>) =>
    pods.filter(({ metadata }) =>
      Object.entries(labels).every(([name, value]) => metadata?.labels?.[name] === value),
    );
  return { listPods, deletePod: vi.fn(async (_: string) => {}) };
}

test("a worker removes its own pods only, also those of a time when it did not know its installation", async () => {
  const probe = pod("probe");
  const labels = { ...probe.metadata?.labels, [labelNames.component]: networkProbeComponent };
  const cluster = makeCluster([
    ...[pod("left"), pod("earlier", "w", "w"), pod("open"), pod("of-isolated-run", "w.1")],
    ...[pod("of-live-worker", "v"), pod("of-longer-name", "w2"), pod("of-others", "v", "j")],
    { metadata: { ...probe.metadata, labels } },
  ]);
  const shared = { cluster, owner, log: { warn() {} } };
  const options = { keep: () => false, open: new Set(["open"]) };
  expect(await reap(shared, { ...options, withIsolated: false })).toEqual(["left", "earlier"]);
  expect(cluster.deletePod.mock.calls.flat()).toEqual(["left", "earlier"]);
  const withIsolated = await reap(shared, { ...options, withIsolated: true });
  expect(withIsolated).toEqual(["left", "earlier", "of-isolated-run"]);
});

test("pods that could not be removed are found again by their worker and sandbox", async () => {
  const cluster = makeCluster([pod("a"), pod("b"), pod("a", "v")]);
  await removeSandboxes({ cluster, owner }, new Set(["a"]));
  expect(cluster.deletePod.mock.calls).toEqual([["a"]]);
});
