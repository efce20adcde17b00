import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { canRunClusters } from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Pods, startPods } from "./pods.ts";
import { runRound } from "./round.ts";

/** Pods start and end slowly on a busy machine. */
const slow = { timeout: 4 * waitOptions.timeout, interval: 500 };

/**
 * Chaos with pods as sandboxes. The cluster fails as well: its API server and its kubelet are killed, and pods are deleted.
 * Servers, workers and PostgreSQL are processes of this machine.
 */

const { CHAOS_SEED } = process.env;
const seeds = CHAOS_SEED ? [Number(CHAOS_SEED)] : Array.from({ length: 10 }, (_, index) => index + 1);

describe.skipIf(!canRunClusters)("chaos with pods", () => {
  let pods: Pods;
  beforeAll(async () => {
    pods = await startPods();
  }, 3_600_000);
  afterAll(() => pods?.stop());

  it.each(seeds)(
    "all invariants hold while components and the cluster fail (seed %i)",
    async (seed) => {
      const { problems, folder } = await runRound(seed, { pods });
      expect(problems, `CHAOS_SEED=${seed} repeats the plan; logs and data are in ${folder}`).toEqual([]);
      // A kubelet that was killed removes the containers of deleted pods only after it has started again.
      await vi.waitFor(async () => expect(await pods.list()).toEqual([]), slow);
    },
    3 * slow.timeout,
  );
});
