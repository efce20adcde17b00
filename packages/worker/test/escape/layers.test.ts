import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { run } from "../sandbox-support.ts";
import { call } from "./calls.ts";
import { type Ground, takeGround } from "./ground.ts";
import { hostileTar, zipped } from "./tar.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Setup commands are the environment's, and may be as hostile as a run: the layers must stand that too. */
let ground: Ground;
beforeAll(async () => {
  ground = await takeGround();
  const origin = await ground.open();
  // What overlays mean something by: marks of deleted files, and names of other folders.
  const { stdout, exitCode } = await run(
    origin,
    `exec 2>&1; ln -s ${ground.outside} way; ln -s / all; mkdir folder kept; echo kept > kept/file; mkfifo fifo
     ${call("mknodat", -100, '"/workspace/gone"', 0o20000, 0)}
     for name in user.overlay.redirect user.overlay.opaque trusted.overlay.redirect; do
       perl -e 'my @a = ("folder", $ARGV[0], "/../..$ARGV[1]", 9 + length $ARGV[1], 0);
         print "$ARGV[0] ", syscall(${/\d+/.exec(call("setxattr").replace(/.*syscall\(/, ""))?.[0]}, @a) == 0 ? "set" : "refused", "\\n"' $name ${ground.outside}
     done; mkdir -m 000 shut; chmod 000 ~`,
  );
  expect([stdout, exitCode]).toEqual([expect.stringContaining("trusted.overlay.redirect refused"), 0]);
  await ground.provider.keepBase(origin, "hostile");
});
afterAll(() => ground?.leave());

const open = () => ground.open({ base: "hostile" });

test("a base with marks and links of its own leads nowhere else", async () => {
  const sandbox = await open();
  const { stdout } = await run(
    sandbox,
    "ls -A folder gone way/ all/home 2>&1; cat kept/file; echo owned > way/canary; echo owned > folder/canary; ls folder",
  );
  expect(stdout).not.toMatch(/canary\n.*-rf|program/);
  expect(stdout).toContain("kept\ncanary\n");
  ground.unharmed();
  await sandbox.close();
});

test("nothing that a run does reaches the base", async () => {
  const file = join(ground.root, ".bases/hostile/workspace/kept/file");
  const hash = () => createHash("sha256").update(readFileSync(file)).digest("hex");
  const before = hash();
  const sandbox = await open();
  const { stdout } = await run(
    sandbox,
    `exec 2>&1; echo owned > kept/file; chmod 777 kept; mv kept moved; mkdir kept; rm -rf all way fifo
     ${call("mknodat", -100, '"/workspace/moved/file2"', 0o20000, 0)}; ls /.outrider ${ground.root}`,
  );
  expect(stdout).toMatch(/cannot access '\/\.outrider'[\s\S]*No such file/);
  expect([hash(), existsSync(join(ground.root, ".bases/hostile/workspace/moved"))]).toEqual([before, false]);
  const next = await open();
  expect((await run(next, "cat kept/file; stat -c %a kept")).stdout).toBe("kept\n755\n");
  await sandbox.close();
  await next.close();
});

test("what differs goes to another sandbox and back, and names nothing outside", async () => {
  const [from, to] = [await open(), await open()];
  await run(
    from,
    "rm -rf kept; ln -s / kept; mkdir -p folder/deep; echo new > folder/deep/file; rm way; mkdir way",
  );
  await to.restore(from.snapshot());
  expect(
    (await run(to, "readlink kept; cat folder/deep/file; ls -A way; cat /etc/hostname 2>&1")).stdout,
  ).toMatch(/^\/\nnew\ncat: /);
  ground.unharmed();
  await from.close();
  await to.close();
});

test("a difference that somebody made up deletes and writes nothing outside", async () => {
  const { outside, unharmed } = ground;
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
    { name: "way", type: "2", link: outside },
    { name: "way/canary", text: "owned" },
    { name: `${outside}/evil`, text: "owned" },
  ]);
  const head = `outrider-difference hostile ${both?.length} ${deleted?.length}\n`;
  const sandbox = await open();
  await sandbox.restore(Readable.from([zipped(head, both ?? "", deleted ?? "", tar)])).catch(() => {});
  unharmed();
  expect(existsSync("/etc/passwd")).toBe(true);
  await sandbox.close();
  const next = await open();
  expect((await run(next, "cat kept/file")).stdout).toBe("kept\n");
  await next.close();
});
