import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { LimitNotEnforceableError } from "../../../src/sandboxes/limits.ts";
import { gzipped, hostileTar } from "../../escape/hostile-tar.ts";
import { isRoot, run } from "../../sandboxes/sandbox-support.ts";
import { signal } from "../fixture.ts";
import type { Place } from "../place.ts";
import { canary, describeEscapes, type EscapeFixture, testAttempts } from "./escape-fixture.ts";

/** Files of the host, and hostile files that the worker reads, writes, packs and unpacks. */
export function testFileEscapes(place: Place): void {
  describeEscapes("files", place, defineTests);
}

const canaryText = new RegExp(canary);

function defineTests(getFixture: () => EscapeFixture): void {
  describe("files of the host", () => {
    testAttempts(getFixture, [
      { name: "by path", command: "cat $OUTSIDE/canary", expected: /No such file/, onHost: canaryText },
      {
        name: "through the root and working folders of processes",
        command: `for path in /proc/self/root /proc/1/root /proc/1/cwd /proc/self/cwd/../.. /proc/1/task/1/root; do
          cat $path$OUTSIDE/canary; done`,
        expected: /^(?:cat: .*(?:No such file|Permission denied).*\n){5}$/,
        onHost: canaryText,
      },
      {
        name: "through .. from the workspace",
        command: "cd /workspace; cat ../../../../../../../../../..$OUTSIDE/canary",
        expected: /No such file/,
      },
      {
        name: "through a symlink",
        command: "ln -sfn $OUTSIDE way; cat way/canary; echo owned > way/canary; echo owned > way/new",
        expected: /^(?:.*No such file.*\n){3}$/,
      },
      {
        name: "accounts and keys",
        command:
          "cat /etc/shadow; find /var/lib /run /home/*/.ssh /boot -mindepth 1 ! -name .containerenv 2> /dev/null; echo end",
        expected: /^cat: .*No such file.*\nend\n$/,
        ...(isRoot ? { onHost: /root:/ } : {}),
      },
    ]);
  });

  describe("files that the worker reads and writes for the agent", () => {
    const data = Buffer.from("owned");

    test("are resolved inside the sandbox, even through symlinks", async () => {
      const { sandbox, outside, expectHostUnchanged } = getFixture();
      await run(
        sandbox,
        `ln -sfn ${outside} out; ln -sfn / all; mkdir -p ${outside}; ln -sfn ${outside}/canary deep`,
      );
      for (const path of [
        "out/canary",
        `all${outside}/canary`,
        "deep",
        `${outside}/canary`,
        `../..${outside}/canary`,
      ]) {
        await expect(sandbox.read(path, 100)).rejects.toMatchObject({ code: "not_found" });
        await sandbox.write(path, data);
        expect((await sandbox.read(path, 100)).toString()).toBe("owned");
        expectHostUnchanged();
        await run(sandbox, `rm -f ${outside}/canary`);
      }
    });

    test("do not block on fifos, devices and folders", async () => {
      const { sandbox, system } = getFixture();
      await run(
        sandbox,
        "mkfifo fifo; ln -sf /dev/zero zero; ln -sf /dev/tty tty; ln -sf loop loop; mkdir -p folder",
      );
      for (const name of ["fifo", "zero", "folder"]) {
        await expect(sandbox.read(name, 100)).rejects.toMatchObject({ code: "not_a_file" });
      }
      await expect(sandbox.read("tty", 100)).rejects.toMatchObject({
        code: system.hasOwnKernel ? "failed" : "not_a_file",
      });
      await expect(sandbox.read("loop", 100)).rejects.toMatchObject({ code: "not_found" });
      await sandbox.write("fifo", data);
      expect((await sandbox.read("fifo", 100)).toString()).toBe("owned");
      if (!system.hasWritableDevices)
        await expect(sandbox.write("zero", data)).rejects.toMatchObject({ code: "failed" });
    });

    test("may have names that look like options or commands", async () => {
      const { sandbox, expectHostUnchanged } = getFixture();
      const names = ["-rf", "--help", "$(touch ran)", "`touch ran`", "; touch ran #", "a\nb", "*", "'", '"'];
      for (const name of names) {
        await sandbox.write(name, Buffer.from(name));
        expect((await sandbox.read(name, 100)).toString()).toBe(name);
      }
      expect((await run(sandbox, "ls ran")).exitCode).not.toBe(0);
      expectHostUnchanged();
    });
  });

  describe("snapshots", () => {
    test("do not execute file names", async () => {
      const { open, expectHostUnchanged } = getFixture();
      const [from, to] = [await open(), await open()];
      await from.write("--checkpoint=1", Buffer.from("x"));
      await from.write("--checkpoint-action=exec=touch ran", Buffer.from("x"));
      await from.write("-I touch ran", Buffer.from("x"));
      await to.restore(from.snapshot());
      for (const sandbox of [from, to]) {
        const { stdout } = await run(sandbox, "ls -A | LC_ALL=C sort; find / -xdev -name ran 2> /dev/null");
        expect(stdout).toBe("--checkpoint-action=exec=touch ran\n--checkpoint=1\n-I touch ran\n");
        await sandbox.close();
      }
      expectHostUnchanged();
    });

    test("from an attacker write nothing outside and create no devices", async () => {
      const { outside, expectHostUnchanged, sandbox: first, system } = getFixture();
      const { scriptPaths } = first;
      const up = "../".repeat(12);
      const tars = {
        above: hostileTar([{ name: `${up}${outside.slice(1)}/evil`, text: "owned" }]),
        absolute: hostileTar([{ name: `${outside}/evil`, text: "owned" }]),
        "through a link": hostileTar([
          { name: "./way", type: "2", link: outside },
          { name: "./way/evil", text: "owned" },
          { name: "./way/canary", text: "owned" },
        ]),
        "over a hard link": hostileTar([
          { name: "./hard", type: "1", link: `${outside}/canary` },
          { name: "./hard", text: "owned" },
        ]),
        "in place of the home": hostileTar([
          { name: "outrider-home", type: "2", link: outside },
          { name: "outrider-home/evil", text: "owned" },
          { name: "outrider-home/canary", text: "owned" },
        ]),
        "in the folders of the worker's scripts": hostileTar([
          { name: `${scriptPaths.state}/evil`, text: "owned" },
          { name: `.${scriptPaths.state}/evil`, text: "owned" },
          { name: `${scriptPaths.state.slice(1)}/evil`, text: "owned" },
        ]),
        devices: hostileTar([
          { name: "./disk", type: "4", mode: 0o666 },
          { name: "./terminal", type: "3", mode: 0o666 },
          { name: "./fine", text: "fine" },
        ]),
        "in place of the workspace": hostileTar([{ name: ".", type: "2", link: outside }]),
        privileges: hostileTar([{ name: "./root", text: "#!/bin/sh\nid -u\n", mode: 0o6755 }]),
      };
      for (const [kind, tar] of Object.entries(tars)) {
        const sandbox = await getFixture().open();
        // tar rejects some entries and sanitizes others. The last archive is valid and shows that the format is right.
        await sandbox.restore(Readable.from([gzipped(tar)])).catch(() => {});
        expectHostUnchanged();
        if (kind === "in place of the workspace" && !system.isWorkspaceMounted) {
          // Root in an image could do the same with a command.
          await expect(run(sandbox, "pwd")).rejects.toThrow("could not enter the folder");
          await sandbox.close();
          continue;
        }
        const inspected = await sandbox.inspect(`find ${scriptPaths.state} -name evil`, { signal });
        const [found] = await Promise.all([text(inspected.stdout), text(inspected.stderr)]);
        expect([kind, found]).toEqual([kind, ""]);
        const { stdout } = await run(
          sandbox,
          "find . -type b -o -type c; cat root 2> /dev/null && ./root; pwd",
        );
        const output = kind === "privileges" ? `#!/bin/sh\nid -u\n${system.uid}\n` : "";
        expect([kind, stdout]).toEqual([kind, `${output}/workspace\n`]);
        await sandbox.close();
      }
    });
  });

  describe("the disk", () => {
    test("is not filled by a huge sparse file", async () => {
      const { open, system } = getFixture();
      const sandbox = await open();
      const bytes = system.findsHoles ? 15 * 2 ** 30 : 10 * 2 ** 20;
      const { stdout } = await run(
        sandbox,
        `exec 2>&1; truncate -s 1T huge; truncate -s ${bytes} large && stat -c %s large`,
      );
      expect(stdout).toMatch(/File (?:too large|size limit exceeded)/);
      expect(stdout).toMatch(new RegExp(`\n${bytes}\n$`));
      expect((await buffer(sandbox.snapshot())).length).toBeLessThan(100_000);
      expect((await sandbox.read("large", 10)).equals(Buffer.alloc(10))).toBe(true);
      await sandbox.close();
    });

    test("in /dev/shm is small", async () => {
      const { stdout } = await run(
        getFixture().sandbox,
        "dd if=/dev/zero of=/dev/shm/x bs=1M count=200 2>&1; stat -c %s /dev/shm/x",
      );
      expect(stdout).toMatch(/No space left[\s\S]*\n67108864\n$/);
    });

    test("is limited in bytes and files, or the sandbox is rejected", async () => {
      const { provider, open, system } = getFixture();
      // The tests of limits show that the node evicts it.
      if (system.pod?.isEvicted) return;
      const { disk } = provider.capabilities();
      const limits = { disk_mb: 64 };
      if (!disk.enforced) {
        await expect(open({ limits })).rejects.toThrow(LimitNotEnforceableError);
        return;
      }
      const sandbox = await open({ limits });
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
}
