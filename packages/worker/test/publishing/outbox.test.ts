import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Outbox } from "../../src/publishing/outbox.ts";
import { stageFromOutbox } from "../../src/publishing/stage-commits.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { git, makeFolder, Origin } from "../repositories/git-server.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { BlobStore, packOf, policyOf, signal } from "./staging-support.ts";

/** Packs that no git would make. */

const origins = makeFolder();
const cache = makeFolder();
let repositories: Repositories;
let origin: Origin;
let base: string;

beforeAll(() => {
  const folder = join(cache.folder, "cache");
  repositories = openRepositories({ folder, allowedPaths: [origins.folder], log: silent });
  origin = new Origin(origins.folder, "origin");
  base = origin.push("main", { "README.md": "first\n" });
});
afterAll(() => {
  origins.remove();
  cache.remove();
});

async function open(): Promise<Outbox> {
  const outbox = await repositories.openOutbox({ url: origin.bare }, { commit: base, signal });
  onTestFinished(() => outbox.remove());
  return outbox;
}

const types = { commit: 1, tree: 2, blob: 3, tag: 4 };
interface PackedObject {
  type: keyof typeof types;
  data: Buffer;
}

const idOf = ({ type, data }: PackedObject) =>
  createHash("sha1").update(`${type} ${data.length}\0`).update(data).digest("hex");

/** Returns the variable-length header of an object. */
function header(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(size / 16);
  let byte = (type << 4) | (size % 16);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest % 128;
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, byte]);
}

function makePack(
  objects: PackedObject[],
  { count = objects.length, claimedSize = (size: number) => size } = {},
) {
  const head = Buffer.alloc(12);
  head.write("PACK");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(count, 8);
  const parts = objects.flatMap(({ type, data }) => [
    header(types[type], claimedSize(data.length)),
    deflateSync(data),
  ]);
  const content = Buffer.concat([head, ...parts]);
  return Readable.from([content, createHash("sha1").update(content).digest()]);
}

const blob = (text: string | Buffer): PackedObject => ({ type: "blob", data: Buffer.from(text) });
const tree = (...entries: [mode: string, name: string, id: string][]): PackedObject => ({
  type: "tree",
  data: Buffer.concat(
    entries.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]),
  ),
});
const commit = (treeId: string, parent = base): PackedObject => ({
  type: "commit",
  data: Buffer.from(
    `tree ${treeId}\nparent ${parent}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n`,
  ),
});

const limits = { maxBytes: 2 ** 24 };
const stage = (outbox: Outbox, tip: string, limits = {}) =>
  stageFromOutbox(outbox, {
    ...{ tip, signal, limits, server: new BlobStore(), policy: policyOf(), folder: cache.folder },
    ...{ repository: { path: "app", url: origin.bare, commit: base }, redactor: new Redactor([]) },
  });

describe("an outbox", () => {
  test("has the mirror's commits after the mirror was removed, and no settings of it", async () => {
    const outbox = await open();
    await repositories.prune({ keep: [], maxBytes: 0 });
    expect(await outbox.typeOf(base)).toBe("commit");
    expect(await outbox.run(["for-each-ref", "--format=%(refname)"])).toBe("refs/mirror/heads/main\n");
    expect(existsSync(join(outbox.folder, "hooks"))).toBe(false);
    await outbox.remove();
    expect(existsSync(outbox.folder)).toBe(false);
  });

  test("accepts a thin pack only if it is announced", async () => {
    const text = Array.from({ length: 2_000 }, (_, line) => `line ${line}\n`).join("");
    const parent = origin.push("main", { large: text });
    const tip = origin.commit({ large: `${text}more\n` }, "more");
    const thin = () => packOf(origin.copy, [tip, `^${parent}`], "--thin");
    const outbox = await repositories.openOutbox({ url: origin.bare }, { commit: parent, signal });
    onTestFinished(() => outbox.remove());
    await expect(outbox.ingest(thin(), limits)).rejects.toMatchObject({ code: "invalid_commits" });
    await outbox.ingest(thin(), { ...limits, isThin: true });
    expect(await outbox.typeOf(tip)).toBe("commit");
  });
});

describe("a hostile pack", () => {
  const empty = tree();

  test("can be made as these tests do", async () => {
    const file = blob("hello\n");
    const root = tree(["100644", "file", idOf(file)]);
    const tip = commit(idOf(root));
    const outbox = await open();
    await outbox.ingest(makePack([file, root, tip]), limits);
    expect(await stage(outbox, idOf(tip))).toMatchObject({
      commits: 1,
      files: [{ path: "README.md" }, { path: "file" }],
    });
  });

  test.each<[string, () => Readable]>([
    ["is no pack", () => Readable.from([Buffer.from("hello world, this is not a pack")])],
    ["ends early", () => makePack([blob("x")], { count: 3 })],
    ["has a wrong checksum", () => Readable.from([Buffer.from("PACK\0\0\0\x02\0\0\0\0"), Buffer.alloc(20)])],
    ["claims a wrong size", () => makePack([blob("x".repeat(100))], { claimedSize: () => 50 })],
    ["claims a giant size", () => makePack([blob("x")], { claimedSize: () => 2 ** 45 })],
    ["lacks an object", () => makePack([commit("1".repeat(40))])],
    ["has a tree as a blob", () => makePack([empty, tree(["100644", "a", idOf(empty)])])],
    ["writes to .git", () => makePack([blob("x"), tree(["100644", ".git", idOf(blob("x"))])])],
    ["writes to .GIT", () => makePack([blob("x"), tree(["100644", ".GIT", idOf(blob("x"))])])],
    ["leaves with ..", () => makePack([blob("x"), tree(["100644", "..", idOf(blob("x"))])])],
    ["has a path as a name", () => makePack([blob("x"), tree(["100644", "../../x", idOf(blob("x"))])])],
    [
      "has one name twice",
      () => makePack([blob("x"), tree(["100644", "a", idOf(blob("x"))], ["100644", "a", idOf(blob("x"))])]),
    ],
    [
      "has a submodule whose URL is an option",
      () => {
        const modules = blob('[submodule "a"]\n\tpath = a\n\turl = --upload-pack=evil\n');
        return makePack([modules, tree(["100644", ".gitmodules", idOf(modules)])]);
      },
    ],
    [
      "has .gitmodules as a link",
      () => makePack([blob("x"), tree(["120000", ".gitmodules", idOf(blob("x"))])]),
    ],
  ])("is refused if it %s", async (_, pack) => {
    const outbox = await open();
    const error = await outbox.ingest(pack(), limits).then(
      () => undefined,
      (reason) => reason,
    );
    expect(error).toMatchObject({
      name: "PublishingError",
      code: expect.stringMatching(/invalid_commits|too_large/),
    });
  });

  test("cannot exhaust memory with objects that expand", async () => {
    const outbox = await open();
    const zeros = blob(Buffer.alloc(200 * 2 ** 20));
    const root = tree(["100644", "zeros", idOf(zeros)]);
    const tip = commit(idOf(root));
    await outbox.ingest(makePack([zeros, root, tip]), limits);
    await expect(stage(outbox, idOf(tip), { totalBytes: 2 ** 26 })).rejects.toMatchObject({
      code: "too_large",
    });
    expect((await stage(outbox, idOf(tip)))?.problems).toEqual([
      expect.stringContaining("A new file has 200 MiB"),
    ]);
  });

  test("cannot keep git busy with folders in folders", async () => {
    const outbox = await open();
    // Each folder contains the next one several times: 10^12 files.
    const objects = [blob("x")];
    for (let depth = 0; depth < 12; depth++) {
      const id = idOf(objects.at(-1) as PackedObject);
      const mode = depth === 0 ? "100644" : "40000";
      objects.push(
        tree(...Array.from({ length: 10 }, (_, index): [string, string, string] => [mode, `${index}`, id])),
      );
    }
    const tip = commit(idOf(objects.at(-1) as PackedObject));
    await outbox.ingest(makePack([...objects, tip]), limits);
    const staged = await stage(outbox, idOf(tip), { commandMs: 4_000 }).catch((error) => error);
    if (!(staged instanceof Error)) expect(staged).toMatchObject({ has_more_files: true });
    else expect(staged).toMatchObject({ name: "PublishingError" });
  });

  test("cannot crash the worker with a deep tree", async () => {
    const outbox = await open();
    const objects = [tree(["100644", "x", idOf(blob("x"))])];
    for (let depth = 0; depth < 20_000; depth++)
      objects.push(tree(["40000", "d", idOf(objects.at(-1) as PackedObject)]));
    const tip = commit(idOf(objects.at(-1) as PackedObject));
    const result = await outbox
      .ingest(makePack([blob("x"), ...objects, tip]), { ...limits, timeoutMs: 30_000 })
      .then(() => stage(outbox, idOf(tip), { commandMs: 10_000 }))
      .catch((error) => error);
    if (result instanceof Error) expect(result.name).toMatch(/^(?:PublishingError|GitFailure)$/);
    else expect(result?.files.length).toBeGreaterThan(0);
  });

  test("is read only up to the limit", async () => {
    const outbox = await open();
    let sent = 0;
    const endless = new Readable({
      read() {
        sent += 65_536;
        this.push(
          sent === 65_536
            ? Buffer.concat([
                Buffer.from("PACK\0\0\0\x02\0\x01\0\0"),
                header(3, 2 ** 40),
                deflateSync(Buffer.alloc(100)).subarray(0, 4),
                Buffer.alloc(65_536),
              ])
            : Buffer.alloc(65_536),
        );
      },
    });
    await expect(outbox.ingest(endless, { maxBytes: 2 ** 20 })).rejects.toMatchObject({
      name: "PublishingError",
    });
    expect(endless.destroyed).toBe(true);
    expect(sent).toBeLessThan(2 ** 24);
    expect(git(outbox.folder, "count-objects", "-v")).toContain("count: 0");
  });
});
