import { execFile, execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isRoot, makeRoot, run } from "../sandboxes/sandbox-support.ts";
import { type EscapeFixture, openEscapeFixture } from "./escape-support.ts";

/** What commands can read about the host: the mount table, links to open files, and the kernel's OOM score. */

interface Seen {
  mountinfo: string;
  links: string;
  other: string;
  files: string;
  stderr: string;
}
interface Report {
  uid: number;
  disk: boolean;
  kept: string;
  plain: Seen;
  onBase: Seen;
}

const reportScript = join(import.meta.dirname, "host-path-report.ts");
const withoutMkfs = 'mount --bind /dev/null "$(command -v mkfs.ext4)" && exec "$@"';
/** Programs that run a command on another kind of worker. */
const workers: { name: string; prefix: string[]; expected: { isRoot: boolean; disk?: boolean } }[] = [
  { name: "this user's worker", prefix: [], expected: { isRoot } },
  ...(isRoot
    ? [
        {
          name: "a worker of root without disk images",
          prefix: ["unshare", "--mount", "sh", "-c", withoutMkfs, "sh"],
          expected: { isRoot: true, disk: false },
        },
        {
          name: "an ordinary user's worker",
          prefix: ["unshare", "--user", "--map-user=1000", "--map-group=1000"],
          expected: { isRoot: false, disk: false },
        },
      ]
    : []),
];

describe.each(workers)("the sandboxes of $name", ({ prefix, expected }) => {
  let folder: string;
  let remove: () => Promise<void>;
  let report: Report;

  beforeAll(async () => {
    const made = makeRoot();
    folder = dirname(made.root);
    remove = made.remove;
    mkdirSync(folder, { recursive: true });
    const [program = "", ...args] = [...prefix, process.execPath, reportScript, folder];
    const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 26 });
    report = JSON.parse(stdout);
  });
  afterAll(() => remove?.());

  test("are of the expected kind and work", () => {
    expect(report.uid === 0).toBe(expected.isRoot);
    if (expected.disk !== undefined) expect(report.disk).toBe(expected.disk);
    for (const seen of [report.plain, report.onBase]) {
      expect(seen.files).toBe("mounted\nkept\nt\n");
      expect(seen.stderr).toBe("to stderr\n");
    }
    expect(report.kept).toBe("kept\n");
  });

  test.each(["plain", "onBase"] as const)("show no path of the host in mounts (%s)", (kind) => {
    const { mountinfo, other } = report[kind];
    const lines = mountinfo.trim().split("\n");
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.flatMap(hostPathsIn)).toEqual([]);
    expect(`${mountinfo}${other}`).not.toContain(folder);
  });

  test.each(["plain", "onBase"] as const)("show no path of the host in links (%s)", (kind) => {
    const links = report[kind].links.trim().split("\n");
    expect(links.some((link) => link.startsWith("pipe:"))).toBe(true);
    const isNeutral =
      /^(?:pipe:\[\d+\]|anon_inode:\S+|\/|\/dev\/null|\/workspace|\/usr\/\S+|\/dev\/shm\/mounts)$/;
    expect(links.filter((link) => !isNeutral.test(link))).toEqual([]);
  });
});

/**
 * Returns the paths of a line of mountinfo that belong to the host. These do not: the path of a folder that is mounted at
 * the same path, such as /usr, the files that /etc links to, devices, and paths inside a sandbox's own file system.
 */
function hostPathsIn(line: string): string[] {
  const [, , , root = "", target = "", , ...rest] = line.split(" ");
  const [type = "", source = "", options = ""] = rest.slice(rest.indexOf("-") + 1);
  const isSystemPath = root === target || target.startsWith("/etc/") || ["devtmpfs", "proc"].includes(type);
  const ownPaths = ["/", "/newroot", "/workspace", "/home", "/tmp"];
  const layers = options
    .split(",")
    .flatMap((option) => /^(?:lower|upper|work)dir=(.*)$/.exec(option)?.[1] ?? []);
  const names = /^(?:base|empty|(?:disk|\.)\/(?:upper|work)|source-(?:\d+|programs))$/;
  return [
    ...(isSystemPath || ownPaths.includes(root) ? [] : [root]),
    ...(source.startsWith("/") && !/^\/dev\/\w+$/.test(source) ? [source] : []),
    ...layers.flatMap((layer) => layer.split(":")).filter((layer) => !names.test(layer)),
  ];
}

describe("the OOM score", () => {
  let fixture: EscapeFixture;
  beforeAll(async () => {
    fixture = await openEscapeFixture();
  });
  afterAll(() => fixture?.cleanUp());

  const own = "cat /proc/self/oom_score_adj";

  test("is high for every process, so that the kernel kills sandboxes first", async () => {
    const { stdout } = await run(
      fixture.sandbox,
      "cat /proc/[0-9]*/oom_score_adj; (sleep 0; cat /proc/self/oom_score_adj)",
    );
    expect(new Set(stdout.trim().split("\n"))).toEqual(new Set(["500"]));
  });

  test.each([
    ["by writing it", "echo 0 > /proc/self/oom_score_adj"],
    ["by its old name", "echo 0 > /proc/self/oom_adj"],
    ["for another process", "sleep 5 & echo 0 > /proc/$!/oom_score_adj; echo 0 > /proc/1/oom_score_adj"],
    ["for a thread", "echo 0 > /proc/thread-self/oom_score_adj; echo 0 > /proc/self/task/$$/oom_score_adj"],
    ["after making /proc writable", "mount -o remount,rw /proc; echo 0 > /proc/self/oom_score_adj"],
    ["with choom", "choom -n 0 -p $$"],
  ])("cannot be lowered %s", async (_, command) => {
    const { stdout, stderr } = await run(
      fixture.sandbox,
      `${command}; ${own}; cat /proc/[0-9]*/oom_score_adj`,
    );
    expect(stderr).not.toBe("");
    expect(new Set(stdout.trim().split("\n"))).toEqual(new Set(["500"]));
  });

  test("can be lowered on the host, so the attempts above are real", () => {
    const command = `echo 500 > /proc/self/oom_score_adj; echo 499 > /proc/self/oom_score_adj; ${own}`;
    expect(execFileSync("sh", ["-c", command], { encoding: "utf8" })).toBe("499\n");
  });
});
