import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeUid } from "../../src/sandboxes/local/systems/uid-ranges.ts";
import type { SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeImage, push, startRegistry } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { imagePlace } from "./local-places.ts";
import { inMs, isRoot, makeRoot, run } from "./sandbox-support.ts";

describe.runIf(isRoot)("the user ids of a sandbox with an image", () => {
  let place: Awaited<ReturnType<typeof imagePlace.open>>;
  let provider: SandboxProvider;
  let image: SandboxImage;
  beforeAll(async () => {
    place = await imagePlace.open();
    provider = place.provider;
    image = place.image as SandboxImage;
  });
  afterAll(() => place?.close());

  test("are free again after it is closed, and after it could not be opened", async () => {
    const options = { deadline: inMs(60_000), label: {}, image };
    const sandbox = await provider.open({ ...options, id: "taken" });
    expect(ownRanges()).toHaveLength(1);
    await run(sandbox, "true");
    const failures = [
      provider.open({ ...options, id: "taken" }),
      provider.open({ ...options, id: "../other" }),
      provider.open({ ...options, id: randomUUID(), base: "missing" }),
      provider.open({
        ...options,
        id: randomUUID(),
        image: { ...image, layers: [`sha256:${"0".repeat(64)}`] },
      }),
    ];
    for (const { status } of await Promise.allSettled(failures)) expect(status).toBe("rejected");
    expect(ownRanges()).toHaveLength(1);
    await sandbox.close();
    expect(ownRanges()).toEqual([]);
    await place.expectNoLeftovers();
  });

  test("are shared where id-mapped mounts do not work, which the sandbox says", async () => {
    const { root, remove } = makeRoot();
    const folder = dirname(root);
    const registry = await startRegistry();
    try {
      const reference = await push(registry, "acme/system:1", makeImage({ layers: [systemLayer()] }));
      for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(join(folder, name), { mode: 0o711 });
      // As in a container without a volume, the worker's folder is an overlay, which has no id-mapped mounts.
      const script = `cd "$1" && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged &&
        shift && exec "$@"`;
      const program = join(import.meta.dirname, "shared-ids-report.ts");
      const { stdout } = await promisify(execFile)("unshare", [
        ...["--mount", "--propagation", "private", "sh", "-c", script, "sh", folder],
        ...[process.execPath, program, join(folder, "merged"), reference],
      ]);
      const report = JSON.parse(stdout);
      expect(report).toMatchObject({
        made: "0\n",
        found: "made\n1234:4321\n",
        ids: { enforced: false, reason: expect.stringContaining(`share the user ids from ${storeUid} on`) },
      });
      // Namespaces still separate the sandboxes.
      expect(report.other).toMatch(/^made\n(?: +\d+\n){3,4}cat: .*No such file/);
      for (const map of report.idMaps) expect(map).toMatch(new RegExp(`^\\s+0\\s+${storeUid}\\s+65536\\n$`));
    } finally {
      await registry.close();
      await remove();
    }
  });
});

/** Lists the ranges that this process has reserved. */
function ownRanges(): string[] {
  const sockets = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // closed in the meantime
    }
  });
  const inodes = new Set(sockets.map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1]).filter(Boolean));
  return readFileSync("/proc/net/unix", "utf8")
    .split("\n")
    .filter((line) => line.includes("@outrider-uid-range-") && inodes.has(line.trim().split(/\s+/)[6]));
}
