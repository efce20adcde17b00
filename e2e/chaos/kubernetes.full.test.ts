import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { canRunClusters } from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Pods, startPods } from "./pods.ts";
import { runRound } from "./round.ts";

/**
 * Chaos with pods as sandboxes. The cluster fails as well: its API server and its kubelet are killed, and pods are deleted.
 * Servers, workers and PostgreSQL are processes of this machine.
 */

const { CHAOS_SEED } = process.env;
const seeds = CHAOS_SEED ? [Number(CHAOS_SEED)] : Array.from({ length: 10 }, (_, index) => index + 1);
/** Pods start slowly on a busy machine. */
const timeout = 6 * waitOptions.timeout;

describe.skipIf(!canRunClusters)("chaos with pods", () => {
  let pods: Pods;
  beforeAll(async () => {
    pods = await startPods();
  }, 3_600_000);
  // A pod of a worker that never starts again ends by itself, but later than the next round starts.
  afterEach(() => pods.deleteAll(), timeout);
  afterAll(() => pods?.stop());

  it.each(seeds)(
    "all invariants hold while components and the cluster fail (seed %i)",
    async (seed) => {
      const { problems, folder } = await runRound(seed, { pods });
      expect(problems, `CHAOS_SEED=${seed} repeats the plan; logs and data are in ${folder}`).toEqual([]);
    },
    timeout,
  );
});
