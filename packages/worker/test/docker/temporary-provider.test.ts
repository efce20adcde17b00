import { dirname } from "node:path";
import type Docker from "dockerode";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { labelNames, sandboxLabels } from "../../src/sandboxes/docker/labels.ts";
import { listObjects } from "../../src/sandboxes/docker/leftovers.ts";
import { removeOldTemporary } from "../../src/sandboxes/docker/temporary-provider.ts";
import { openProvider } from "../../src/sandboxes/open-provider.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { newOwner, openSharedEngine } from "./docker-support.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

/** No other test file opens temporary providers in the shared engine. */
describe.skipIf(!canRunEngines)("a temporary provider", () => {
  let docker: Docker;
  beforeAll(async () => {
    docker = (await openSharedEngine()).docker;
  });

  const listTemporary = async () =>
    (await listObjects(docker, { [labelNames.installation]: undefined })).filter(({ labels }) =>
      labels[labelNames.installation]?.startsWith("temporary-"),
    );

  async function open(runtime?: string) {
    const { root } = makeRoot();
    onTestFinished(() => removeFolder(dirname(root)));
    const engine = { host: await sharedDocker() };
    return await openProvider("docker", {
      root,
      isTemporary: true,
      docker: { engine, runtime },
      log: silent,
    });
  }

  it("leaves nothing in the engine when it is stopped", async () => {
    const provider = await open();
    const sandbox = await provider.open({ id: "left", deadline: inMs(600_000), label: {} });
    expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
    const types = (await listTemporary()).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["containers", "volumes", "images"]));
    await provider.stop();
    expect(await listTemporary()).toEqual([]);
  });

  it("leaves nothing in the engine if it cannot be opened", async () => {
    await expect(open("no-such-runtime")).rejects.toThrow("does not have this runtime");
    expect(await listTemporary()).toEqual([]);
  });

  it("removes what killed processes have left, but not what others may still use", async () => {
    const owner = { ...newOwner(), installation: `temporary-${newOwner().worker}` };
    for (const of of [owner, newOwner()])
      await docker.createVolume({
        Name: `outrider-test-${of.worker}`,
        Labels: sandboxLabels(of, { kind: "volume", sandbox: "left" }),
      });
    await removeOldTemporary(docker);
    expect((await listTemporary()).map(({ id }) => id)).toEqual([`outrider-test-${owner.worker}`]);
    await removeOldTemporary(docker, Date.now() + 2 * 3_600_000);
    expect(await listTemporary()).toEqual([]);
  });
});
