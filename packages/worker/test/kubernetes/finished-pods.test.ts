import type { V1Pod } from "@kubernetes/client-node";
import { expect, test, vi } from "vitest";
import { sandboxMetadata } from "../../src/sandboxes/kubernetes/labels.ts";
import { removeFinishedPods } from "../../src/sandboxes/kubernetes/pods/finished-pods.ts";

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

function pod(sandbox: string, phase: string, created: Date, worker = "w", installation = "i"): V1Pod {
  const metadata = sandboxMetadata({ installation, worker }, { sandbox, label: {} });
  return { metadata: { ...metadata, name: sandbox, creationTimestamp: created }, status: { phase } };
}

test("only pods of the installation that ended or waited for long are removed, but none of an open sandbox", async () => {
  const pods = [
    pod("running", "Running", hoursAgo(100)),
    pod("ended", "Succeeded", hoursAgo(1)),
    pod("of-isolated-run", "Succeeded", hoursAgo(1), "w.1"),
    pod("of-another-worker", "Succeeded", hoursAgo(1), "v"),
    pod("of-another-installation", "Succeeded", hoursAgo(1), "u", "j"),
    pod("of-an-unknown-installation", "Succeeded", hoursAgo(1), "t.1", "t"),
    pod("just-ended", "Failed", hoursAgo(0)),
    pod("never-started", "Pending", hoursAgo(2)),
    pod("starting", "Pending", hoursAgo(1)),
    pod("open", "Failed", hoursAgo(3)),
  ];
  const deletePod = vi.fn(async () => {});
  const cluster = { listPods: async () => pods, deletePod };
  const owner = { installation: "i" };
  await removeFinishedPods({ cluster, owner, log: { warn() {} } }, { open: new Set(["open"]) });
  expect(deletePod.mock.calls.flat()).toEqual([
    ...["ended", "of-isolated-run", "of-another-worker", "of-an-unknown-installation", "never-started"],
  ]);
});
