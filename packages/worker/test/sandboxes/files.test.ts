import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { homeFileMark } from "../../src/egress/presets/preset.ts";
import { writeHomeFiles } from "../../src/egress/sandbox-files.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { readProcess } from "../../src/sandboxes/local/process/processes.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { streamDiff } from "../../src/workspace/diff.ts";
import { testFiles } from "../conformance/files.ts";
import { testLifecycle } from "../conformance/lifecycle.ts";
import { testSnapshots } from "../conformance/snapshots.ts";
import { localPlaces } from "./local-places.ts";
import { inMs, makeRoot, processesWith, run, silent, until } from "./sandbox-support.ts";

for (const place of localPlaces) {
  testFiles(place);
  testSnapshots(place);
  testLifecycle(place);
}

const { root, remove } = makeRoot();
let provider: SandboxProvider;
let sandbox: Sandbox;

const open = () => provider.open({ id: randomUUID(), label: {}, deadline: inMs(120_000) });

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  sandbox = await open();
});

afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

test("a snapshot kills its processes when its stream is destroyed", async () => {
  await run(sandbox, "head -c 20000000 /dev/urandom > noise");
  // Other workers on this machine may be packing too.
  const packing = () => processesWith("--ignore-failed-read").filter(isOwn);
  const stream = sandbox.snapshot();
  await until(() => packing().length > 0);
  stream.destroy();
  await until(() => packing().length === 0);
});

function isOwn(pid: number): boolean {
  const parent = readProcess(pid)?.parent ?? 0;
  return parent === process.pid || (parent > 1 && isOwn(parent));
}

test("a patch reports an early failure to a later reader, as a snapshot does", async () => {
  const signal = AbortSignal.abort(new Error("The lease is lost."));
  const stream = streamDiff(sandbox, { repositories: [], redactor: new Redactor([]), signal });
  // An unhandled stream error would end the process.
  await until(() => stream.errored && stream.closed);
  await expect(buffer(stream)).rejects.toThrow("lost");
});

test("a patch of a workspace without repositories has all its files, and leaves nothing behind", async () => {
  const secret = "s3cr3t-0123456789-abcdef";
  const { signal } = new AbortController();
  const other = await open();
  const diff = () => text(streamDiff(other, { repositories: [], redactor: new Redactor([secret]), signal }));
  const temporary = async () => {
    const inspected = await other.inspect("ls -A /tmp", { signal });
    inspected.stdin.end();
    return await text(inspected.stdout);
  };
  const before = await temporary();
  expect(await diff()).toBe("");
  await run(
    other,
    "echo 'GIT binary patch' > ä; seq 100000 > long; echo x > ignored; echo ignored > .gitignore",
  );
  const patch = await diff();
  expect(patch.match(/^diff .*$/gm)).toEqual(
    [".gitignore", "long", "ä"].map((name) => `diff --git a/${name} b/${name}`),
  );
  expect(patch).toContain("\n+100000\n");
  expect(patch).toMatch(/\n\+GIT binary patch\n$/);
  await run(other, `rm long; printf 'clean\\0' > clean; printf '%s\\0' ${secret} > dirty`);
  const binaries = await diff();
  expect(binaries).toMatch(/\ndiff --git a\/clean b\/clean\nnew file .*\nindex .*\nGIT binary patch\n/);
  expect(binaries).toMatch(/\ndiff --git a\/dirty b\/dirty\nnew file .*\nindex .*\nBinary files /);
  await run(other, "chmod 0 clean");
  await expect(diff()).rejects.toThrow("Permission denied");
  expect(await temporary()).toBe(before);
  await other.close();
});

test("the folder of a sandbox is closed to other users, has a name that is not reserved, and is removed", async () => {
  const other = await open();
  const folder = join(root, other.id);
  expect(statSync(folder).mode & 0o7).toBe(0);
  await other.close();
  expect(existsSync(folder)).toBe(false);
  const reserved = provider.open({ id: ".etc", label: {}, deadline: inMs(60_000) });
  await expect(reserved).rejects.toThrow("not a valid sandbox id");
  expect(readdirSync(root).filter((name) => !name.startsWith("."))).toEqual([sandbox.id]);
});

test("workers that know no homes in snapshots ignore the home, and their snapshots are restored here", async () => {
  const [first, second] = [await open(), await open()];
  await run(first, "echo w > file; head -c 3000000 /dev/urandom > ~/noise");
  const folder = mkdtempSync(join(tmpdir(), "outrider-test-"));
  try {
    const input = await buffer(first.snapshot());
    execFileSync("tar", ["--no-same-owner", "--same-permissions", "-xzf", "-"], { cwd: folder, input });
    expect(readdirSync(folder)).toEqual(["file"]);
    const previous = execFileSync("tar", ["--format=pax", "-czf", "-", "."], { cwd: folder });
    await second.restore(Readable.from([previous]));
    expect((await run(second, "cat file; ls -A ~")).stdout).toBe("w\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
  await first.close();
  await second.close();
});

test("files that the worker writes to a home replace their outdated versions, but not files of commands", async () => {
  const [first, second] = [await open(), await open()];
  const write = (to: Sandbox, text: string) => {
    const content = `# ${homeFileMark}\n${text}\n`;
    const homeFiles = { ".tool/settings": content, ".own": content };
    return writeHomeFiles(to, { ...{ files: {}, environment: {}, imageFiles: {}, forwards: [] }, homeFiles });
  };
  await run(first, "echo own > ~/.own");
  await write(first, "old");
  await second.restore(first.snapshot());
  await write(second, "new");
  expect((await run(second, "tail -n1 ~/.tool/settings; cat ~/.own")).stdout).toBe("new\nown\n");
  await first.close();
  await second.close();
});
