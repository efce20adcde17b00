import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Disks, mountCommand, openDisks } from "../src/sandboxes/disk.ts";
import { isRoot, until } from "./sandbox-support.ts";

const parent = mkdtempSync(join(tmpdir(), "outrider-disk-"));
chmodSync(parent, 0o711); // the owner has to come in
const target = join(parent, "target");
mkdirSync(target);
const owner = { uid: 21_500, gid: 21_500 };
const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
let disks: Disks;

beforeAll(async () => {
  disks = await openDisks({ folder: join(parent, "disks"), owner });
});
afterAll(() => rm(parent, { recursive: true, force: true }));

/** A shell in a mount namespace of its own, with the image mounted on the target. */
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

/** Only root can mount an image; everybody else is told so. */
function holds(): boolean {
  if (disks.capability.enforced) return true;
  expect(disks.capability.reason).toMatch(/^The sandboxes' disk cannot be limited: .+\.$/);
  return false;
}

test("root can bound a disk where there are loop devices, and an ordinary user is told who can", () => {
  const loops = readdirSync("/dev").includes("loop-control");
  if (isRoot && loops) expect(disks.capability).toEqual({ enforced: true, by: "ext4 image" });
  else
    expect(disks.capability).toEqual({
      enforced: false,
      reason: expect.stringContaining(isRoot ? "loop" : "only root"),
    });
});

describe("a disk", () => {
  test("is full when it is full, and takes no more of the host's than its size", async () => {
    if (!holds()) return;
    const image = join(parent, "full.ext4");
    await disks.make(image, 32);
    const empty = statSync(image).blocks * 512;
    expect(empty).toBeLessThan(2 ** 20);
    const fill = `setpriv --reuid ${owner.uid} --regid ${owner.gid} --clear-groups dd if=/dev/urandom of=${target}/x bs=1M`;
    expect(runMounted(image, `${fill}; sync -f ${target}`)).toContain("No space left on device");
    expect(statSync(image).size).toBe(32 * 2 ** 20);
    expect(statSync(image).blocks * 512).toBeGreaterThan(28 * 2 ** 20);
    expect(statSync(image).blocks * 512).toBeLessThanOrEqual(33 * 2 ** 20);
    // What is deleted inside is the host's again.
    runMounted(image, `rm ${target}/x && sync -f ${target}`);
    expect(statSync(image).blocks * 512).toBeLessThan(2 * 2 ** 20);
  });

  test("belongs to the sandboxes' user, and makes nobody more than that", async () => {
    if (!holds()) return;
    const image = join(parent, "own.ext4");
    await disks.make(image, 8);
    expect(runMounted(image, `stat -c %u:%g ${target}`)).toBe("21500:21500\n");
    const options = runMounted(image, `grep ' ${target} ' /proc/self/mounts`).split(" ")[3]?.split(",");
    expect(options).toEqual(expect.arrayContaining(["rw", "nosuid", "nodev"]));
  });

  test("is another's for each sandbox: what one writes no other sees", async () => {
    if (!holds()) return;
    const [one, two] = [join(parent, "one.ext4"), join(parent, "two.ext4")];
    await Promise.all([disks.make(one, 8), disks.make(two, 8)]);
    runMounted(one, `echo mine > ${target}/file`);
    expect(runMounted(one, `cat ${target}/file`)).toBe("mine\n");
    expect(runMounted(two, `ls ${target}`)).not.toContain("file");
  });

  test("frees its loop device when the last who holds its namespace is killed", async () => {
    if (!holds()) return;
    const image = join(parent, "held.ext4");
    await disks.make(image, 8);
    const maker = await holdMounted(image);
    expect(loopsOf(image)).toContain("/dev/loop");
    // As a worker does: the namespace lives by an open file alone.
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
