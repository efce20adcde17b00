import { json } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { describeCapabilities, describeEngine } from "../../src/sandboxes/docker/engine/describe.ts";
import { importEmptyImage, newOwner, openSharedEngine, startStub } from "./docker-support.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("the description of Docker", () => {
  it("has its version and what it runs on", async () => {
    const description = await describeEngine(await openSharedEngine());
    expect(description).toMatchObject({
      ...{ name: "docker", storageDriver: "overlay2", cgroupDriver: "cgroupfs", userNamespace: "none" },
      ...{ version: expect.stringMatching(/^\d+\.\d+\.\d+/), apiVersion: expect.stringMatching(/^1\.\d+$/) },
      runtimes: expect.arrayContaining(["runc"]),
    });
  });

  it("says what it enforces, and why not", async () => {
    const engine = await openSharedEngine();
    const image = await importEmptyImage(engine);
    const owner = newOwner();
    const { capabilities, ids } = await describeCapabilities(engine, {
      owner,
      image,
      hasSeccompProfile: true,
    });
    const groups = { enforced: true, by: expect.stringMatching(/^cgroup v\d, Docker \d+/) };
    expect(capabilities).toEqual({
      ...{ memory: groups, cpus: groups, pids: groups },
      freeze: { enforced: true, by: "the container's first process" },
      network: { enforced: true, by: "a network namespace" },
      seccomp: { enforced: true, by: "seccomp" },
      disk: {
        enforced: false,
        reason: expect.stringMatching(/^Docker \S+ cannot limit disk space.*pquota\)\.$/),
      },
    });
    expect(ids).toEqual({ enforced: false, reason: expect.stringContaining("userns-remap") });
    const gvisor = await describeCapabilities(engine, {
      owner,
      image,
      hasSeccompProfile: false,
      runtime: "runsc",
    });
    expect(gvisor.capabilities.seccomp).toEqual({ enforced: true, by: "the kernel of runsc" });
  });
});

it("labels what probes the disk limits of an engine, so that it is removed after a crash", async () => {
  const created: { path: string; labels: Record<string, string> }[] = [];
  const host = await startStub(async (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.method === "POST") {
      const { Labels: labels } = (await json(request)) as { Labels: Record<string, string> };
      created.push({ path: request.url ?? "", labels });
      response.statusCode = 201;
    }
    if (request.method === "DELETE") response.writeHead(204).end();
    else response.end(JSON.stringify({ Id: "probe", Name: "probe" }));
  });
  const owner = newOwner();
  const engine = await openEngine({ host });
  const { capabilities } = await describeCapabilities(engine, { owner, image: "x", hasSeccompProfile: true });
  expect(capabilities.disk).toMatchObject({ enforced: true });
  const labels = { "outrider.installation": owner.installation, "outrider.worker": owner.worker };
  const sandbox = expect.stringMatching(/^probe-/);
  expect(created).toEqual([
    { path: expect.stringContaining("/containers/create"), labels: expect.objectContaining(labels) },
    { path: expect.stringContaining("/volumes/create"), labels: expect.objectContaining(labels) },
  ]);
  for (const each of created) expect(each.labels).toMatchObject({ "outrider.sandbox": sandbox });
});
