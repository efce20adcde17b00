import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { run } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture } from "./fixture.ts";
import type { Place } from "./place.ts";

/** Files that the worker reads and writes. */
export function testFiles(place: Place): void {
  describePlace("files", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  describe("read and write", () => {
    test("transfer arbitrary bytes and create parent folders", async () => {
      const { sandbox } = getFixture();
      const data = randomBytes(3_000_000);
      await sandbox.write("a/b c/-d\n/e", data);
      expect((await sandbox.read("a/b c/-d\n/e", 1e7)).equals(data)).toBe(true);
      expect((await sandbox.read("a/b c/-d\n/e", 10)).equals(data.subarray(0, 10))).toBe(true);
      await sandbox.write("-n", Buffer.alloc(0));
      expect(await sandbox.read("-n", 10)).toEqual(Buffer.alloc(0));
    });

    test("report a missing path or a path that is not a file", async () => {
      const { sandbox } = getFixture();
      await run(sandbox, "mkdir -p folder; mkfifo fifo");
      await expect(sandbox.read("absent", 10)).rejects.toMatchObject({ code: "not_found" });
      await expect(sandbox.read("folder", 10)).rejects.toMatchObject({ code: "not_a_file" });
      await expect(sandbox.read("fifo", 10)).rejects.toMatchObject({ code: "not_a_file" });
      await expect(sandbox.write("folder", Buffer.from("x"))).rejects.toMatchObject({ code: "not_a_file" });
      await expect(sandbox.write("/proc/x", Buffer.from("x"))).rejects.toMatchObject({ code: "failed" });
    });

    test("replace a file atomically, keep its mode and leave no temporary file", async () => {
      const { sandbox } = getFixture();
      await run(sandbox, "mkdir kept && cd kept && echo old > file && chmod 754 file && ln -s file link");
      await sandbox.write("kept/link", Buffer.from("new"));
      const { stdout } = await run(
        sandbox,
        "cd kept && cat file && stat -c %a file && readlink link && ls -A",
      );
      expect(stdout).toBe("new754\nfile\nfile\nlink\n");
    });

    test("follow symlinks only inside the sandbox, never to the host", async () => {
      const { sandbox, system } = getFixture();
      const folder = mkdtempSync(join(tmpdir(), "outrider-secret-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const secret = join(folder, "secret");
      writeFileSync(secret, "the host's");
      await run(
        sandbox,
        `ln -s /etc/passwd passwd; ln -s ${secret} absolute; ln -s ../../../.. up; ln -s /etc etc
       ln -s ../../../${basename(folder)}/secret relative`,
      );
      // Not the file of the host, which has more accounts.
      const accounts = new RegExp(`^root:.*\\n${system.isImage ? "worker" : "sandbox"}:.*\\n$`);
      for (const path of ["passwd", "up/etc/passwd", "../../../etc/passwd"]) {
        expect((await sandbox.read(path, 1e4)).toString()).toMatch(accounts);
      }
      const paths = ["absolute", "relative", secret, `up${secret}`];
      for (const path of paths)
        await expect(sandbox.read(path, 10)).rejects.toMatchObject({ code: "not_found" });
      // A write that succeeds goes to the sandbox's own /tmp.
      for (const path of paths) await sandbox.write(path, Buffer.from("overwritten")).catch(() => {});
      expect(readFileSync(secret, "utf8")).toBe("the host's");
      const name = `inside-${basename(folder)}`;
      await sandbox.write(`up/tmp/${name}`, Buffer.from("x"));
      expect((await run(sandbox, `cat /tmp/${name}`)).stdout).toBe("x");
      expect(existsSync(`/tmp/${name}`)).toBe(false);
    });

    test("change files of the system only in an image", async () => {
      const { sandbox, system } = getFixture();
      const written = sandbox.write("/etc/passwd-2", Buffer.from("x")).then(() => "written");
      if (system.isImage) expect(await written).toBe("written");
      else await expect(written).rejects.toMatchObject({ code: "failed" });
    });
  });
}
