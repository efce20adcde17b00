import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { openSharedEngine } from "./docker-support.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("the process of an isolated run", () => {
  it("shares the worker's programs, and the worker removes what it left behind once it has exited", async () => {
    const engine = await openSharedEngine();
    const systemImage = await ensureSystemImage(engine, { owner: { installation: "test-conformance" } });
    const { root: mainRoot } = makeRoot();
    const root = join(dirname(mainRoot), "isolated", "1", "sandboxes");
    const docker = { engine: { host: await sharedDocker() }, systemImage };
    const openMain = (hasIsolatedRuns: boolean) =>
      openDockerProvider({ root: mainRoot, docker, hasIsolatedRuns, log: silent });
    const main = await openMain(false);
    onTestFinished(async () => {
      await main.stop();
      await removeFolder(dirname(mainRoot));
    });
    const isolated = await openDockerProvider({ root, mainRoot, docker, log: silent });
    onTestFinished(() => isolated.stop());
    const { installation } = JSON.parse(readFileSync(join(mainRoot, ".docker-owner"), "utf8"));
    const find = async (label: Record<string, string>) => {
      const all = { [labelNames.installation]: installation, ...label };
      return (await engine.docker.listVolumes({ filters: JSON.stringify(labelFilters(all)) })).Volumes;
    };
    const programs = await find({ [labelNames.kind]: "bundle" });
    expect(programs).toHaveLength(1);

    const id = randomUUID();
    const own = await main.open({ id: randomUUID(), deadline: inMs(600_000), label: {} });
    const left = await isolated.open({ id, deadline: inMs(600_000), label: {} });
    expect((await run(left, "echo on")).stdout).toBe("on\n");
    expect(await isolated.reap(() => false)).toEqual([]);
    await isolated.stop();
    expect(await (await openMain(true)).reap(() => false)).toEqual([own.id]);
    expect(await find({ [labelNames.sandbox]: id })).not.toEqual([]);
    expect(await (await openMain(false)).reap(() => false)).toEqual([id]);
    expect(await find({ [labelNames.sandbox]: id })).toEqual([]);
  });
});
