import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type DiskImages,
  mountCommand,
  openDiskImages,
} from "../../src/sandboxes/local/files/disk-images.ts";
import { isRoot, until } from "./sandbox-support.ts";

const parent = mkdtempSync(join(tmpdir(), "outrider-disk-"));
chmodSync(parent, 0o711); // the owner must be able to enter
const target = join(parent, "target");
mkdirSync(target);
const owner = { uid: 21_500, gid: 21_500 };
const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
let diskImages: DiskImages;

beforeAll(async () => {
  diskImages = await openDiskImages({ folder: join(parent, "diskImages"), owner });
});
afterAll(() => rm(parent, { recursive: true, force: true }));

/** Returns the arguments of unshare for a shell that has the image mounted on the target. */
const mounted = (image: string, script: string): string[] => {
  const command = `mount --make-rprivate / && ${mountCommand(image, target).join(" ")} && ${script}`;
  return ["--mount", "sh", "-c", command];
};

function runMounted(image: string, script: string): string {
  const { stdout, stderr } = spawnSync("unshare", mounted(image, script), { env, encoding: "utf8" });
  return stdout + stderr;
}

async function holdMounted(image: string): Promise<ChildProcess> {
  const stdio: ["ignore", "pipe", "ignore"] = ["ignore", "pipe", "ignore"];
  const child = spawn("unshare", mounted(image, "echo ready && exec sleep 600"), { env, stdio });
  const [ready] = await once(child.stdout as NodeJS.ReadableStream, "data");
  expect(String(ready)).toBe("ready\n");
  return child;
}

const loopsOf = (image: string) =>
  spawnSync("losetup", ["-j", image], { env, encoding: "utf8" }).stdout.trim();

/** Returns whether this host can mount images. If it cannot, checks that the capability says why. */
function isEnforced(): boolean {
  if (diskImages.capability.enforced) return true;
  expect(diskImages.capability.reason).toMatch(/^Sandbox disk cannot be limited: .+\.$/);
  return false;
}

test("enforces disk limits as root with loop devices, and says otherwise why not", () => {
  const loops = readdirSync("/dev").includes("loop-control");
  if (isRoot && loops) expect(diskImages.capability).toEqual({ enforced: true, by: "ext4 image" });
  else
    expect(diskImages.capability).toEqual({
      enforced: false,
      reason: expect.stringContaining(isRoot ? "loop" : "only root"),
    });
});

describe("a disk image", () => {
  test("uses at most its size on the host and returns deleted blocks", async () => {
    if (!isEnforced()) return;
    const image = join(parent, "full.ext4");
    await diskImages.create(image, 32);
    const empty = statSync(image).blocks * 512;
    expect(empty).toBeLessThan(2 ** 20);
    const fill = `setpriv --reuid ${owner.uid} --regid ${owner.gid} --clear-groups dd if=/dev/urandom of=${target}/x bs=1M`;
    expect(runMounted(image, `${fill}; sync -f ${target}`)).toContain("No space left on device");
    expect(statSync(image).size).toBe(32 * 2 ** 20);
    expect(statSync(image).blocks * 512).toBeGreaterThan(28 * 2 ** 20);
    expect(statSync(image).blocks * 512).toBeLessThanOrEqual(33 * 2 ** 20);
    runMounted(image, `rm ${target}/x && sync -f ${target}`);
    expect(statSync(image).blocks * 512).toBeLessThan(2 * 2 ** 20);
  });

  test("belongs to the sandbox user and is mounted without suid and devices", async () => {
    if (!isEnforced()) return;
    const image = join(parent, "own.ext4");
    await diskImages.create(image, 8);
    expect(runMounted(image, `stat -c %u:%g ${target}`)).toBe("21500:21500\n");
    const options = runMounted(image, `grep ' ${target} ' /proc/self/mounts`).split(" ")[3]?.split(",");
    expect(options).toEqual(expect.arrayContaining(["rw", "nosuid", "nodev"]));
  });

  test("is separate for each sandbox", async () => {
    if (!isEnforced()) return;
    const [one, two] = [join(parent, "one.ext4"), join(parent, "two.ext4")];
    await Promise.all([diskImages.create(one, 8), diskImages.create(two, 8)]);
    runMounted(one, `echo mine > ${target}/file`);
    expect(runMounted(one, `cat ${target}/file`)).toBe("mine\n");
    expect(runMounted(two, `ls ${target}`)).not.toContain("file");
  });

  test("frees its loop device when the last process with its namespace is killed", async () => {
    if (!isEnforced()) return;
    const image = join(parent, "held.ext4");
    await diskImages.create(image, 8);
    const maker = await holdMounted(image);
    expect(loopsOf(image)).toContain("/dev/loop");
    // Only an open file keeps the namespace alive, as in the worker.
    const fd = openSync(`/proc/${maker.pid}/ns/mnt`, "r");
    const holder = spawn("sleep", ["600"], { stdio: ["ignore", "ignore", "ignore", fd] });
    closeSync(fd);
    maker.kill("SIGKILL");
    await once(maker, "exit");
    expect(loopsOf(image)).toContain("/dev/loop");
    holder.kill("SIGKILL");
    await until(() => loopsOf(image) === "");
  });
});
