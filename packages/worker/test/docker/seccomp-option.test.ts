import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { Presence } from "../../src/sandboxes/docker/presence.ts";
import { prepareSeccomp } from "../../src/sandboxes/docker/seccomp-option.ts";
import { BundleVolumes } from "../../src/sandboxes/docker/volumes/bundle-volumes.ts";
import { importEmptyImage, newOwner, openSharedEngine } from "./docker-support.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("the seccomp filter of Docker's containers", () => {
  it("is passed as text, and the container that finds this out has the labels of its worker", async () => {
    const { docker } = await openSharedEngine();
    const [owner, image] = [newOwner(), await importEmptyImage(await openSharedEngine())];
    const folder = mkdtempSync(join(tmpdir(), "outrider-seccomp-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const since = Date.now() / 1_000 - 1;
    const bundleVolumes = new BundleVolumes({ docker, owner, image, presence: new Presence(docker, owner) });
    const option = await prepareSeccomp(
      { docker, owner, systemImage: image },
      { profile: "{}", folder, bundleVolumes },
    );
    expect([await option.value(), await option.volume()]).toEqual(["{}", undefined]);
    const filters = { type: ["container"], event: ["create"], image: [image] };
    const events = await docker.getEvents({
      ...{ since, until: Date.now() / 1_000, filters: JSON.stringify(filters) },
    });
    const created = (await text(events))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(created).toHaveLength(1);
    expect(created[0].Actor.Attributes).toMatchObject({
      "outrider.installation": owner.installation,
      "outrider.worker": owner.worker,
      "outrider.sandbox": expect.stringMatching(/^probe-/),
    });
  });
});
