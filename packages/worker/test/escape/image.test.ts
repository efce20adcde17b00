import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import { readProcess } from "../../src/sandboxes/local/process/processes.ts";
import { storeUid } from "../../src/sandboxes/local/systems/uid-ranges.ts";
import { testAttempts } from "../conformance/escape/escape-fixture.ts";
import { imagePlace } from "../sandboxes/local-places.ts";
import { initsOf, isRoot, run } from "../sandboxes/sandbox-support.ts";
import { type EscapeFixture, openEscapeFixture } from "./escape-support.ts";
import { syscall } from "./syscalls.ts";

const refusedOwner = "chown: .*Invalid argument";

/** Attempts that only root in an image can make. It controls every file that the sandbox sees. */
describe(`root in an image (${imagePlace.name})`, () => {
  const { hasOtherUsers } = imagePlace.system;
  let fixture: EscapeFixture;
  beforeAll(async () => {
    fixture = await openEscapeFixture(imagePlace);
  });
  afterAll(() => fixture?.cleanUp());

  describe("cannot reach the host", () => {
    testAttempts(
      () => fixture,
      [
        {
          name: "through its first process",
          command: `cat /proc/1/root$OUTSIDE/canary; ls /proc/1/root/ /proc/1/cwd/; cat /proc/1/environ; cat /proc/1/maps; readlink /proc/1/fd/*; echo end`,
          expected: /^(?:.*Permission denied\n){5}end\n$/,
        },
        {
          name: "by raising the limit of user namespaces",
          command:
            "echo 10 > /proc/sys/user/max_user_namespaces; cat /proc/sys/user/max_user_namespaces; unshare --user true",
          expected: /Read-only file system\n0\nunshare: .*not permitted\n$/,
        },
        {
          name: "with ids that it does not have",
          command: `touch f; chown 65535:65535 f && stat -c %u:%g f; chown 65536 f; chown 4294967294 f; ${syscall("setuid", 65536)}; ${syscall("setuid", storeUid)}`,
          expected: new RegExp(
            `^${hasOtherUsers ? "65535:65535" : refusedOwner}\n(?:${refusedOwner}\n){2}(?:refused: Invalid argument\n){2}$`,
          ),
        },
        // With one user id, there is nobody who could gain anything.
        ...(hasOtherUsers
          ? [
              {
                name: "with setuid programs and file capabilities, which give nobody more",
                command: `cp /usr/bin/id own; chmod 6755 own; cp /usr/bin/cat able; ${syscall("setxattr", '"able"', '"security.capability"', 'pack("VVVVV", 0x2000001, 0xffffffff, 0, 0xffffffff, 0)', 20, 0)}
            echo secret > /root/secret; chmod 700 /root; chmod 755 . own able
            perl -e '$) = "1234 1234"; $( = 1234; $> = $< = 1234; $< = 1234; exec "bash", "-c", "./own -u; ./able /root/secret; grep CapEff /proc/self/status"'`,
                expected: /^(?:worked|refused).*\n1234\n.*denied\nCapEff:\s0+\n$/,
              },
            ]
          : []),
        {
          name: "with devices",
          command: "mknod disk b 8 0; mknod mem c 1 1; mknod hidden c 0 0; mknod tun c 10 200; ls",
          expected: /^(?:mknod: .*not permitted\n){4}/,
        },
        {
          name: "by replacing mount points",
          command:
            "mv /proc /p; rm -rf /dev/null; mv /dev /d; rm /etc/hosts; echo x > /etc/hosts; echo x > /opt/outrider/bin/sandbox-files; rm /opt/outrider/gitconfig; umount -l /proc; mount --bind / /var 2>&1 | head -n1",
          expected: /^(?:.*(?:busy|Read-only|superuser|denied|not permitted).*\n){9}$/,
        },
        {
          name: "with a lower OOM score",
          command:
            "echo -1000 > /proc/self/oom_score_adj; echo 0 > /proc/1/oom_score_adj; cat /proc/self/oom_score_adj",
          expected: /^(?:.*Read-only file system\n){2}500\n$/,
        },
      ],
    );

    test("by names of mounts, which show no path of the host", async () => {
      const { stdout } = await run(fixture.sandbox, "cat /proc/self/mountinfo");
      expect(stdout).not.toContain(fixture.root);
      expect(stdout).not.toContain(fixture.sandbox.id);
      for (const line of stdout.split("\n").filter((each) => each.includes(" - "))) {
        expect(line).toMatch(/nosuid/);
        if (!/ \/dev\/\w+ /.test(line)) expect(line).toMatch(/nodev/);
      }
    });

    // Only the host's root can see the ids on disk.
    test.runIf(isRoot)("with files of other ids than those of images", async () => {
      const sandbox = await fixture.open();
      await run(sandbox, "touch a; touch /var/b; chown 1234:4321 /var/b; mkdir -p /x/y; ln -s /etc /x/link");
      await sandbox.write("/etc/written", Buffer.from("x"));
      // Also creates files with the worker's own scripts.
      await sandbox.restore(sandbox.snapshot());
      const owners = ownersOnDisk(join(fixture.root, sandbox.id, "rootfs"));
      const uids = owners.map((owner) => Number(owner.split(":")[0]) - storeUid);
      expect(Math.min(...uids)).toBe(0);
      expect(new Set(uids)).toEqual(new Set([0, 1234]));
      expect(owners).toContain(`${storeUid + 1234}:${storeUid + 4321}`);
      await sandbox.close();
    });

    test("with the files of another sandbox", async () => {
      const other = await fixture.open();
      await run(other, "echo secret > /etc/secret; echo secret > /dev/shm/secret; sleep 1000 & true");
      const { stdout } = await run(
        fixture.sandbox,
        `exec 2>&1; cat /etc/secret /dev/shm/secret ${join(fixture.root, other.id)}/rootfs/merged/etc/secret; grep -lr "sleep" /proc/[0-9]*/cmdline; cat /proc/self/uid_map`,
      );
      expect(stdout).not.toContain("secret\nsecret");
      expect(stdout.match(/No such file/g)).toHaveLength(3);
      const ids = await run(other, "cat /proc/self/uid_map");
      const isShared = ids.stdout === `${stdout.split("\n").at(-2)}\n`;
      expect(isShared).toBe(!other.enforced.ids?.enforced);
      await other.close();
    });
  });

  describe("with hostile files in place of the sandbox's own", () => {
    /**
     * Each is made by a command of the sandbox. Then all its processes are killed, and the next command starts new
     * ones.
     */
    const restartAfter = async (
      command: string,
      next = "echo works; cat /etc/hosts | head -n1; ls /proc/self/exe",
    ) => {
      const sandbox = await fixture.open();
      try {
        const made = await run(sandbox, command, { env: fixture.env });
        expect(made).toMatchObject({ exitCode: 0, stderr: "" });
        await sandbox.kill();
        return (await run(sandbox, next)).stdout;
      } catch (error) {
        return (error as Error).message;
      } finally {
        await sandbox.close();
        fixture.expectHostUnchanged();
      }
    };
    const works = /^works\n127.0.0.1 localhost sandbox\n\/proc\/self\/exe\n$/;

    test("links and folders of other users do not stop it or lead outside", async () => {
      const attacks = [
        "mv /opt /opt2; ln -s $OUTSIDE /opt",
        "mv /opt/outrider /opt/other; ln -s /../../../../../../$OUTSIDE /opt/outrider",
        "mkdir -p /opt/x; chown -R 1234 /opt 2> /dev/null || true; chmod 000 /opt; chown 1234:1234 /etc / /var 2> /dev/null || true",
        "rm -rf /workspace; cd /",
        "rm -rf /home /root",
      ];
      for (const attack of attacks)
        expect([attack, await restartAfter(attack)]).toEqual([attack, expect.stringMatching(works)]);
    });

    test("what cannot be replaced is a clear error", async () => {
      expect(await restartAfter("mv /opt/outrider /opt/other; mkdir -p /opt/outrider/gitconfig/x")).toBe(
        "The image leaves no place for a mount of the sandbox (replace file:opt/outrider/gitconfig: Directory not empty): remove what is at this path.",
      );
      const folders = /^The image's folders cannot be prepared: .*Not a directory\.$/;
      expect(await restartAfter("rm -rf /workspace; ln -s / /workspace")).toMatch(folders);
      expect(await restartAfter("rm -rf /workspace; mkfifo /workspace")).toMatch(folders);
      expect(await restartAfter("rm -rf /home; echo x > /home")).toMatch(folders);
    });

    test("files of users that are endless, huge or block are a clear error, and root needs none", async () => {
      const accounts =
        /^The image's folders cannot be prepared: \/etc\/(passwd|group) is not a file of at most 4 MiB\.$/;
      expect(await restartAfter("rm /etc/passwd; mkfifo /etc/passwd")).toMatch(accounts);
      expect(await restartAfter("ln -sf /dev/zero /etc/passwd")).toMatch(accounts);
      expect(await restartAfter("ln -sf /dev/tty /etc/group")).toMatch(
        /^The image's folders cannot be prepared: /,
      );
      expect(await restartAfter("truncate -s 10G /etc/group")).toMatch(accounts);
      expect(await restartAfter("ln -sf /proc/self/pagemap /etc/passwd")).toMatch(works);
      expect(await restartAfter("rm /etc/passwd")).toMatch(works);
    });
  });
});

/** Lists the owners of all files of a sandbox's upper layer, without the mapping of its mounts. */
function ownersOnDisk(rootfs: string): string[] {
  const script = `cd "$1/disk/image" 2> /dev/null || cd "$1/image" && find upper -printf '%U:%G\n'`;
  const all = initsOf(processTag).map((init) => {
    const args = [`--mount=/proc/${readProcess(init)?.parent}/ns/mnt`, "sh", "-c", script, "sh", rootfs];
    return spawnSync("nsenter", args, { encoding: "utf8" }).stdout;
  });
  return all.join("").trim().split("\n");
}
