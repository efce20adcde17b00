import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../sandboxes/sandbox-support.ts";
import { type EscapeFixture, openEscapeFixture } from "./escape-support.ts";
import { gzipped, hostileTar } from "./hostile-tar.ts";
import { syscall } from "./syscalls.ts";

/** Setup commands may be as hostile as a run, so a base may contain anything that confuses an overlay. */
let fixture: EscapeFixture;
beforeAll(async () => {
  fixture = await openEscapeFixture();
  const origin = await fixture.open();
  // Things with a meaning to overlays: whiteouts, and attributes that redirect to other folders.
  const { stdout, exitCode } = await run(
    origin,
    `exec 2>&1; ln -s ${fixture.outside} way; ln -s / all; mkdir folder kept; echo kept > kept/file; mkfifo fifo
     ${syscall("mknodat", -100, '"/workspace/gone"', 0o20000, 0)}
     for name in user.overlay.redirect user.overlay.opaque trusted.overlay.redirect; do
       perl -e 'my @a = ("folder", $ARGV[0], "/../..$ARGV[1]", 9 + length $ARGV[1], 0);
         print "$ARGV[0] ", syscall(${/\d+/.exec(syscall("setxattr").replace(/.*syscall\(/, ""))?.[0]}, @a) == 0 ? "set" : "refused", "\\n"' $name ${fixture.outside}
     done; mkdir -m 000 shut; chmod 000 ~`,
  );
  expect([stdout, exitCode]).toEqual([expect.stringContaining("trusted.overlay.redirect refused"), 0]);
  await fixture.provider.saveBase(origin, "hostile");
});
afterAll(() => fixture?.cleanUp());

const open = () => fixture.open({ base: "hostile" });

test("a base with whiteouts and symlinks does not lead outside", async () => {
  const sandbox = await open();
  const { stdout } = await run(
    sandbox,
    "ls -A folder gone way/ all/home 2>&1; cat kept/file; echo owned > way/canary; echo owned > folder/canary; ls folder",
  );
  expect(stdout).not.toMatch(/canary\n.*-rf|program/);
  expect(stdout).toContain("kept\ncanary\n");
  fixture.expectHostUnchanged();
  await sandbox.close();
});

test("a run cannot change the base", async () => {
  const file = join(fixture.root, ".bases/hostile/workspace/kept/file");
  const hash = () => createHash("sha256").update(readFileSync(file)).digest("hex");
  const before = hash();
  const sandbox = await open();
  const { stdout } = await run(
    sandbox,
    `exec 2>&1; echo owned > kept/file; chmod 777 kept; mv kept moved; mkdir kept; rm -rf all way fifo
     ${syscall("mknodat", -100, '"/workspace/moved/file2"', 0o20000, 0)}; ls /.outrider ${fixture.root}`,
  );
  expect(stdout).toMatch(/cannot access '\/\.outrider'[\s\S]*No such file/);
  expect([hash(), existsSync(join(fixture.root, ".bases/hostile/workspace/moved"))]).toEqual([before, false]);
  const next = await open();
  expect((await run(next, "cat kept/file; stat -c %a kept")).stdout).toBe("kept\n755\n");
  await sandbox.close();
  await next.close();
});

test("a differential snapshot contains nothing from outside", async () => {
  const [from, to] = [await open(), await open()];
  await run(
    from,
    "rm -rf kept; ln -s / kept; mkdir -p folder/deep; echo new > folder/deep/file; rm way; mkdir way",
  );
  await to.restore(from.snapshot());
  expect(
    (await run(to, "readlink kept; cat folder/deep/file; ls -A way; cat /etc/hostname 2>&1")).stdout,
  ).toMatch(/^\/\nnew\ncat: /);
  fixture.expectHostUnchanged();
  await from.close();
  await to.close();
});

test("a forged differential snapshot deletes and writes nothing outside", async () => {
  const { outside, expectHostUnchanged } = fixture;
  const up = "../".repeat(12);
  const lists = {
    both: [`${up}${outside.slice(1)}`, "/etc", "-R", "--reference=/etc"],
    deleted: [
      `${outside}/canary`,
      `way/canary`,
      `${up}${outside.slice(1)}/canary`,
      "-rf",
      "--no-preserve-root",
      "/",
    ],
  };
  const [both, deleted] = [lists.both, lists.deleted].map((names) =>
    names.map((name) => `${name}\0`).join(""),
  );
  const tar = hostileTar([
    { name: "./way", type: "2", link: outside },
    { name: "./way/canary", text: "owned" },
    { name: `${outside}/evil`, text: "owned" },
  ]);
  const head = `outrider-difference hostile ${both?.length} ${deleted?.length}\n`;
  const sandbox = await open();
  await sandbox.restore(Readable.from([gzipped(head, both ?? "", deleted ?? "", tar)])).catch(() => {});
  expectHostUnchanged();
  expect(existsSync("/etc/passwd")).toBe(true);
  await sandbox.close();
  const next = await open();
  expect((await run(next, "cat kept/file")).stdout).toBe("kept\n");
  await next.close();
});
