import { expect, it } from "vitest";
import { parseLabel, sandboxLabels } from "../../src/sandboxes/docker/labels.ts";

const owner = { installation: "installation-1", worker: "worker-1" };

it("labels the objects of a run with the run, so that operators can filter by it", () => {
  const labels = sandboxLabels(owner, { kind: "sandbox", sandbox: "one", label: { run_id: "run-1" } });
  expect(labels).toMatchObject({ "outrider.worker": "worker-1", "outrider.run": "run-1" });
  expect(parseLabel(labels)).toEqual({ run_id: "run-1" });
});

it("does not name a run for the objects of others", () => {
  const labels = sandboxLabels(owner, { kind: "sandbox", sandbox: "one", label: { build_id: "build-1" } });
  expect(labels).not.toHaveProperty("outrider.run");
  expect(sandboxLabels(owner, { kind: "volume", sandbox: "one" })).not.toHaveProperty("outrider.run");
});
