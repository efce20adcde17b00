import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { LimitNotEnforceableError } from "../../src/sandboxes/limits.ts";
import { isRoot, run } from "../sandbox-support.ts";
import { attempts, canary, type Ground, takeGround } from "./ground.ts";
import { hostileTar, zipped } from "./tar.ts";

vi.setConfig({ testTimeout: 60_000 });

let ground: Ground;
beforeAll(async () => {
  ground = await takeGround();
});
afterAll(() => ground?.leave());

const words = new RegExp(canary);

describe("files of the host", () => {
  attempts(
    () => ground,
    [
      { name: "by path", command: "cat $OUTSIDE/canary", says: /No such file/, outside: words },
      {
        name: "by the roots and folders of processes",
        command: `for way in /proc/self/root /proc/1/root /proc/1/cwd /proc/self/cwd/../.. /proc/1/task/1/root; do
          cat $way$OUTSIDE/canary; done`,
        says: /^(?:cat: .*No such file.*\n){5}$/,
        outside: words,
      },
      {
        name: "above the workspace",
        command: "cd /workspace; cat ../../../../../../../../../..$OUTSIDE/canary",
        says: /No such file/,
      },
      {
        name: "through a link",
        command: "ln -sfn $OUTSIDE way; cat way/canary; echo owned > way/canary; echo owned > way/new",
        says: /^(?:.*No such file.*\n){3}$/,
      },
      {
        name: "the sandbox's own folder, as the host names it",
        command: "ls $ROOT $ROOT/$OWN/label.json",
        says: /^(?:ls: .*No such file.*\n){2}$/,
        outside: /label\.json/,
      },
      {
        name: "accounts and keys",
        command: "cat /etc/shadow; ls /root /var/lib /run /home/*/.ssh /boot",
        says: /^cat: .*No such file.*\n(?:ls: .*No such file.*\n){5}$/,
        ...(isRoot ? { outside: /root:/ } : {}),
      },
      {
        name: "programs, to change them for everybody",
        command:
          "echo x > /usr/bin/ls; echo x > /etc/passwd; touch /bin/x /lib/x /etc/x /x; rm -f /usr/bin/ls",
        says: /^(?:.*(?:Read-only|denied).*\n){7}$/,
      },
      {
        name: "a second name for a program that makes root",
        command: "ln /usr/bin/passwd /workspace/second; ln /etc/hosts /tmp/second; ln /workspace /tmp/third",
        says: /^(?:ln: .*(?:cross-device|not permitted|not allowed).*\n){3}$/,
      },
    ],
  );

  test("are no mount that could be written, but the sandbox's own", async () => {
    const { stdout } = await run(ground.sandbox, "cut -d' ' -f5,6 /proc/self/mountinfo");
    const writable = stdout.split("\n").filter((line) => / rw/.test(line));
    const places = writable
      .map((line) => line.split(" ")[0] as string)
      .filter((place) => !place.startsWith("/dev/"));
    expect(new Set(places)).toEqual(new Set(["/workspace", "/home/sandbox", "/tmp", "/proc"]));
    for (const line of stdout.trim().split("\n")) expect(line).toMatch(/nosuid/);
  });
});

describe("files that the worker reads and writes for the agent", () => {
  const data = Buffer.from("owned");

  test("are looked for inside, whatever links lead out", async () => {
    const { sandbox, outside, unharmed } = ground;
    await run(
      sandbox,
      `ln -sfn ${outside} out; ln -sfn / all; mkdir -p ${outside}; ln -sfn ${outside}/canary deep`,
    );
    for (const way of [
      "out/canary",
      `all${outside}/canary`,
      "deep",
      `${outside}/canary`,
      `../..${outside}/canary`,
    ]) {
      await expect(sandbox.read(way, 100)).rejects.toMatchObject({ code: "not_found" });
      await sandbox.write(way, data);
      expect((await sandbox.read(way, 100)).toString()).toBe("owned");
      unharmed();
      await run(sandbox, `rm -f ${outside}/canary`);
    }
  });

  test("do not hang on what is no file", async () => {
    const { sandbox } = ground;
    await run(
      sandbox,
      "mkfifo fifo; ln -sf /dev/zero zero; ln -sf /dev/tty tty; ln -sf loop loop; mkdir -p folder",
    );
    for (const name of ["fifo", "zero", "tty", "folder"]) {
      await expect(sandbox.read(name, 100)).rejects.toMatchObject({ code: "not_a_file" });
    }
    await expect(sandbox.read("loop", 100)).rejects.toMatchObject({ code: "not_found" });
    await sandbox.write("fifo", data);
    expect((await sandbox.read("fifo", 100)).toString()).toBe("owned");
    await expect(sandbox.write("zero", data)).rejects.toMatchObject({ code: "failed" });
  });

  test("may be called like options or commands", async () => {
    const { sandbox, unharmed } = ground;
    const names = ["-rf", "--help", "$(touch ran)", "`touch ran`", "; touch ran #", "a\nb", "*", "'", '"'];
    for (const name of names) {
      await sandbox.write(name, Buffer.from(name));
      expect((await sandbox.read(name, 100)).toString()).toBe(name);
    }
    expect((await run(sandbox, "ls ran")).exitCode).not.toBe(0);
    unharmed();
  });
});

describe("snapshots", () => {
  test("run nothing that a file's name says", async () => {
    const [from, to] = [await ground.open(), await ground.open()];
    await from.write("--checkpoint=1", Buffer.from("x"));
    await from.write("--checkpoint-action=exec=touch ran", Buffer.from("x"));
    await from.write("-I touch ran", Buffer.from("x"));
    await to.restore(from.snapshot());
    for (const each of [from, to]) {
      const { stdout } = await run(each, "ls -A | LC_ALL=C sort; find / -xdev -name ran 2> /dev/null");
      expect(stdout).toBe("--checkpoint-action=exec=touch ran\n--checkpoint=1\n-I touch ran\n");
      await each.close();
    }
    ground.unharmed();
  });

  test("of somebody hostile put nothing outside, and no device inside", async () => {
    const { outside, unharmed } = ground;
    const up = "../".repeat(12);
    const tars = {
      above: hostileTar([{ name: `${up}${outside.slice(1)}/evil`, text: "owned" }]),
      absolute: hostileTar([{ name: `${outside}/evil`, text: "owned" }]),
      "through a link": hostileTar([
        { name: "way", type: "2", link: outside },
        { name: "way/evil", text: "owned" },
        { name: "way/canary", text: "owned" },
      ]),
      "over a hard link": hostileTar([
        { name: "hard", type: "1", link: `${outside}/canary` },
        { name: "hard", text: "owned" },
      ]),
      devices: hostileTar([
        { name: "disk", type: "4", mode: 0o666 },
        { name: "terminal", type: "3", mode: 0o666 },
        { name: "fine", text: "fine" },
      ]),
      "in place of the workspace": hostileTar([{ name: ".", type: "2", link: outside }]),
      privileges: hostileTar([{ name: "root", text: "#!/bin/sh\nid -u\n", mode: 0o6755 }]),
    };
    for (const [kind, tar] of Object.entries(tars)) {
      const sandbox = await ground.open();
      // Some of it tar refuses, some it makes harmless; the last one is honest and shows that these are archives.
      await sandbox.restore(Readable.from([zipped(tar)])).catch(() => {});
      unharmed();
      const { stdout } = await run(
        sandbox,
        "find . -type b -o -type c; cat root 2> /dev/null && ./root; pwd",
      );
      const honest = kind === "privileges" ? "#!/bin/sh\nid -u\n1000\n" : "";
      expect([kind, stdout]).toEqual([kind, `${honest}/workspace\n`]);
      await sandbox.close();
    }
  });
});

describe("the disk", () => {
  test("is not filled by a file that claims to be larger than any", async () => {
    const sandbox = await ground.open();
    const { stdout } = await run(
      sandbox,
      "exec 2>&1; truncate -s 1T huge; truncate -s 15G large && stat -c %s large",
    );
    expect(stdout).toMatch(/File (?:too large|size limit exceeded)[\s\S]*\n16106127360\n$/);
    expect((await buffer(sandbox.snapshot())).length).toBeLessThan(100_000);
    expect((await sandbox.read("large", 10)).equals(Buffer.alloc(10))).toBe(true);
    await sandbox.close();
  });

  test("of memory that every command has is small", async () => {
    const { stdout } = await run(
      ground.sandbox,
      "dd if=/dev/zero of=/dev/shm/x bs=1M count=200 2>&1; stat -c %s /dev/shm/x",
    );
    expect(stdout).toMatch(/No space left[\s\S]*\n67108864\n$/);
  });

  test("is bounded, in bytes and in files, or no sandbox is opened that relies on it", async () => {
    const { disk } = ground.provider.capabilities();
    const limits = { disk_mb: 64 };
    if (!disk.enforced) {
      await expect(ground.open({ limits })).rejects.toThrow(LimitNotEnforceableError);
      return;
    }
    const sandbox = await ground.open({ limits });
    const bytes = await run(sandbox, "head -c 200M /dev/zero > big; stat -c %s big; rm big");
    expect(bytes.stderr).toContain("No space left");
    expect(Number(bytes.stdout)).toBeLessThan(64 * 2 ** 20);
    const files = await run(
      sandbox,
      "for d in {1..200}; do mkdir $d && (cd $d && touch {1..5000}) || exit 1; done",
      {
        timeoutMs: 60_000,
      },
    );
    expect(files).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("No space left") });
    await sandbox.close();
  });
});

test("a folder that is mounted read-only stays as it is", async () => {
  const given = join(ground.root, "..", "given");
  mkdirSync(given, { recursive: true, mode: 0o777 });
  const sandbox = await ground.open({ mounts: [{ source: given, target: "/run/given" }] });
  const { stdout } = await run(
    sandbox,
    "exec 2>&1; touch /run/given/x; chmod 700 /run/given; rmdir /run/given; mv /run/given /tmp",
  );
  expect(stdout.match(/Read-only|busy|cross-device/g)).toHaveLength(4);
  expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(given);
  await sandbox.close();
});
