/** The layer of an image that the archive of a build becomes. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { ByteReader } from "../../src/images/byte-reader.ts";
import { defaultImageLimits, type ImageLimits } from "../../src/images/limits.ts";
import { type ReadEntry, readEntries } from "../../src/images/tar-entries.ts";
import { writeBuildLayer } from "../../src/sandboxes/kubernetes/build-images/build-layer.ts";
import { hostileTar, type Member } from "../escape/hostile-tar.ts";
import { pax } from "../images/images-support.ts";

interface Entry extends ReadEntry {
  text: string;
}

async function* chunksOf(bytes: Buffer, size = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(archive: Buffer): Promise<Entry[]> {
  const reader = new ByteReader(chunksOf(archive));
  const entries: Entry[] = [];
  for await (const entry of readEntries(reader))
    entries.push({ ...entry, text: (await reader.readExactly(entry.bodyBytes)).toString("latin1") });
  return entries;
}

const write = async (archive: Buffer, limits: Partial<ImageLimits> = {}) =>
  await buffer(writeBuildLayer(chunksOf(archive), { ...defaultImageLimits, ...limits }));
const layerOf = async (members: Member[]) => await read(await write(hostileTar(members)));
const list = (...names: string[]) => `${names.map((name) => `${name}\0`).join("")}\0`;
const folder = (name: string, ...names: string[]): Member => ({
  name,
  type: "D",
  mode: 0o755,
  text: list(...names),
});
const namesOf = (entries: Entry[]) => entries.map(({ name }) => name);
const listsOf = async (entries: Entry[]) => {
  const lists = await read(
    Buffer.from(entries.find(({ name }) => name === ".outrider/folders.tar")?.text ?? "", "latin1"),
  );
  return Object.fromEntries(lists.map(({ name, text }) => [name, text.split("\0").slice(0, -2)]));
};

test("has all entries with their owners, modes, times, links and attributes", async () => {
  const entries = await layerOf([
    { name: "opt/tool", text: "x".repeat(1000), mode: 0o4750, uid: 12, gid: 34 },
    { name: "opt/same", type: "1", link: "opt/tool" },
    { name: "opt/link", type: "2", link: "../../anywhere" },
    { name: "opt/pipe", type: "6" },
    pax({
      mtime: "981173106.25",
      "SCHILY.xattr.user.note": "a\0b",
      "SCHILY.xattr.trusted.overlay.opaque": "y",
    }),
    { name: "opt/dated", text: "dated" },
    pax({ path: `opt/${"n".repeat(150)}` }),
    { name: "opt/cut", text: "long" },
  ]);
  const [tool, same, link, pipe, dated, long] = entries;
  expect(tool).toMatchObject({ name: "opt/tool", text: "x".repeat(1000), mode: 0o4750, uid: 12, gid: 34 });
  expect(same).toMatchObject({ type: "1", linkName: "opt/tool" });
  expect(link).toMatchObject({ type: "2", linkName: "../../anywhere" });
  expect(pipe).toMatchObject({ type: "6" });
  expect(dated).toMatchObject({ name: "opt/dated", text: "dated", mtime: 981173106 });
  expect(dated?.records?.get("mtime")?.toString()).toBe("981173106.25");
  expect([...(dated?.records?.keys() ?? [])]).toEqual(["mtime", "SCHILY.xattr.user.note"]);
  expect(long).toMatchObject({ name: `opt/${"n".repeat(150)}`, text: "long" });
});

test("hides what the image has in complete folders, and lists the names of the others", async () => {
  const entries = await layerOf([
    folder(".", "Yetc", "Nusr", "Yopt"),
    folder("etc", "Ynew", "Nkept"),
    { name: "etc/new", text: "new" },
    folder("opt", "Ytool"),
    folder("opt/tool", "Yx"),
    { name: "opt/tool/x", text: "x" },
    folder("workspace", "Yfile"),
    { name: "workspace/file", text: "work" },
  ]);
  expect(namesOf(entries)).toEqual([
    ...["etc/", "etc/new", "opt/", "opt/.wh..wh..opq", "opt/tool/", "opt/tool/x"],
    ...["workspace/", "workspace/.wh..wh..opq", "workspace/file", ".outrider/", ".outrider/folders.tar"],
  ]);
  expect(entries.filter(({ name }) => name.endsWith("/")).every(({ type }) => type === "5")).toBe(true);
  // A volume of the build may be an ordinary folder for others, and must not be removed there.
  expect(await listsOf(entries)).toEqual({
    ".": ["Yetc", "Nusr", "Yopt", "Yworkspace"],
    etc: ["Ynew", "Nkept"],
  });
});

test("has files with holes as a whole, as GNU tar stores them", async () => {
  const root = mkdtempSync(join(tmpdir(), "outrider-layer-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const script = `
    mkdir workspace; truncate -s 1M workspace/holes; echo end >> workspace/holes; truncate -s 70000 workspace/empty
    for i in $(seq 40); do printf x$i | dd of=workspace/many bs=1 seek=$((i * 20000)) conv=notrunc status=none; done; truncate -s 2M workspace/many
    tar --format=pax --sparse --sort=name -cf archive workspace; cat archive`;
  const archive = execFileSync("bash", ["-c", script], { cwd: root, maxBuffer: 2 ** 26 });
  expect(archive.length).toBeLessThan(600_000);
  writeFileSync(join(root, "layer"), await write(archive));
  const check = `mkdir out; tar -C out -xf layer && for f in holes empty many; do cmp workspace/$f out/workspace/$f && echo same; done`;
  expect(execFileSync("bash", ["-c", check], { cwd: root, encoding: "utf8" })).toBe("same\nsame\nsame\n");
});

describe("of a hostile archive is refused", () => {
  const sparse = (size: number, text: string) => [
    pax({
      "GNU.sparse.major": "1",
      "GNU.sparse.minor": "0",
      "GNU.sparse.name": "holes",
      "GNU.sparse.realsize": String(size),
    }),
    { name: "holes", text: text.padEnd(512, "\0") },
  ];
  test.each<[string, Member[], RegExp]>([
    ["a name that leaves the system", [{ name: "a/../../b" }], /invalid name: a\/\.\.\/\.\.\/b/],
    ["an absolute name", [{ name: "/etc/passwd" }], /invalid name/],
    ["an empty name", [{ name: "a//b" }], /invalid name/],
    ["a hard link that leaves the system", [{ name: "a", type: "1", link: "../b" }], /invalid name: \.\.\/b/],
    ["a whiteout", [{ name: "etc/.wh.passwd" }], /special meaning in images/],
    ["a whiteout of the parent folder", [{ name: "etc/.wh..." }], /special meaning in images/],
    ["a file of the sandbox itself", [{ name: ".outrider/folders.tar" }], /invalid name/],
    ["a device", [{ name: "disk", type: "4" }], /unknown type: disk/],
    ["a list with a path", [folder("etc", "Y../x")], /invalid list of names/],
    ["a list without letters", [folder("etc", "name")], /invalid list of names/],
    ["holes of terabytes", sparse(2 ** 42, "1\n0\n0\n"), /holes of more than 1 GiB/],
    [
      "many holes",
      Array.from({ length: 3 }, () => sparse(2 ** 29, "1\n0\n0\n")).flat(),
      /holes of more than 1 GiB/,
    ],
    ["regions that overlap", sparse(600, "2\n0\n300\n100\n10\n"), /invalid file with holes/],
    ["regions after the end", sparse(600, "1\n590\n20\n"), /invalid file with holes/],
    ["a list of regions without an end", sparse(600, "5\n1\n"), /invalid file with holes/],
  ])("with %s", async (_, members, reason) => {
    await expect(layerOf(members)).rejects.toThrow(reason);
  });

  test("with too many entries or bytes", async () => {
    const members = Array.from({ length: 3 }, (_, index) => ({
      name: `file-${index}`,
      text: "x".repeat(600),
    }));
    await expect(write(hostileTar(members), { maxEntries: 2 })).rejects.toThrow("more than 2 files");
    await expect(write(hostileTar(members), { maxUnpackedBytes: 2 ** 11 })).rejects.toThrow(
      "unpacked, which is the limit",
    );
  });
});
