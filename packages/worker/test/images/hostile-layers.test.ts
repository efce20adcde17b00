import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { LayerStore } from "../../src/images/layer-store.ts";
import { silentLog } from "../../src/log.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import type { Member } from "../escape/hostile-tar.ts";
import { layer, listStored, pax, pull, pullError } from "./images-support.ts";
import { makeImage } from "./registry-server.ts";
import { serveImage } from "./stub-registry.ts";

/** Creates a store in a folder of its own, so that the test sees what is written next to it. */
function makeNestedStore() {
  const parent = mkdtempSync(join(tmpdir(), "outrider-layers-"));
  onTestFinished(() => removeFolder(parent));
  const folder = join(parent, "a/b/layers");
  return { parent, store: new LayerStore({ folder, maxBytes: 2 ** 30, log: silentLog }) };
}

const up = "../".repeat(20);
const deep = (length: number) => `${"x".repeat(200)}/`.repeat(length);

const rejected: [name: string, members: Member[], code?: string][] = [
  ["a path with ..", [{ name: "../escaped" }]],
  ["a path with .. in the middle", [{ name: "a/../../escaped" }]],
  ["a path with .. that stays inside", [{ name: "a/../b" }]],
  ["an absolute path", [{ name: "/tmp/escaped" }]],
  ["an absolute path with several slashes", [{ name: "//tmp/escaped" }]],
  ["an absolute path in an extended header", [pax({ path: "/tmp/escaped" }), { name: "x" }]],
  ["a path with .. in an extended header", [pax({ path: `${up}tmp/escaped` }), { name: "x" }]],
  ["a long name with ..", [{ name: "L", type: "L", text: `${up}tmp/escaped` }, { name: "x" }]],
  ["a folder with ..", [{ name: "../escaped/", type: "5" }]],
  ["an entry below a symlink that leads out", [{ name: "s", type: "2", link: up }, { name: "s/escaped" }]],
  [
    "an entry below a chain of symlinks that leads out",
    [{ name: "a/s", type: "2", link: ".." }, { name: "t", type: "2", link: "a/s/.." }, { name: "t/escaped" }],
  ],
  [
    "a symlink loop",
    [{ name: "s", type: "2", link: "t" }, { name: "t", type: "2", link: "s" }, { name: "s/x" }],
  ],
  ["a symlink to nothing", [{ name: "s", type: "2" }]],
  ["a hard link to a file of the host", [{ name: "x", type: "1", link: "/etc/passwd" }]],
  ["a hard link with ..", [{ name: "x", type: "1", link: `${up}etc/passwd` }]],
  [
    "a hard link through a symlink that leads out",
    [
      { name: "s", type: "2", link: `${up}etc` },
      { name: "x", type: "1", link: "s/passwd" },
    ],
  ],
  [
    "a hard link to a folder",
    [
      { name: "d/", type: "5" },
      { name: "x", type: "1", link: "d" },
    ],
  ],
  ["a hard link to a whiteout", [{ name: ".wh.d" }, { name: "x", type: "1", link: "d" }]],
  ["a file below a file", [{ name: "a" }, { name: "a/b" }]],
  ["a file in place of a folder with content", [{ name: "a/b" }, { name: "a" }]],
  ["a file in place of the root", [{ name: "./" }]],
  ["a symlink in place of the root", [{ name: ".", type: "2", link: "/etc" }]],
  ["a whiteout of nothing", [{ name: "a/.wh." }]],
  ["a whiteout of the folder", [{ name: "a/.wh.." }]],
  ["a whiteout of the parent", [{ name: "a/.wh..." }]],
  ["a name that is too long", [pax({ path: "x".repeat(256) }), { name: "x" }]],
  ["a path that is too long", [pax({ path: `${deep(20)}x` }), { name: "x" }]],
  ["a long name in several pieces", [pax({ path: "./".repeat(5_000) }), { name: "x" }]],
  ["a name with a NUL character", [pax({ path: "a\0b" }), { name: "x" }]],
  ["an id above 65535", [{ name: "x", uid: 65_536 }], "unsupported"],
  ["a group above 65535", [{ name: "x", gid: 100_000 }], "unsupported"],
  ["an id above 65535 in an extended header", [pax({ uid: "4294967295" }), { name: "x" }], "unsupported"],
  ["a negative id", [pax({ uid: "-1" }), { name: "x", type: "5" }], "unsupported"],
  ["a sparse file", [{ name: "x", type: "S" }], "unsupported"],
  ["a sparse file in an extended header", [pax({ "GNU.sparse.size": "1" }), { name: "x" }], "unsupported"],
  ["an invalid size", [pax({ size: "1e9" }), { name: "x" }]],
  ["a negative size", [pax({ size: "-5" }), { name: "x" }]],
  ["an invalid extended header", [{ name: "x", type: "x", text: "999 path=a\n" }, { name: "x" }]],
  ["a huge extended header", [{ name: "x", type: "x", text: " ".repeat(2 ** 20 + 1) }, { name: "x" }]],
  ["a size that the archive does not have", [{ name: "x", size: 100_000 }]],
];

describe("a layer is rejected that has", () => {
  test.each(rejected)("%s", async (_name, members, code = "corrupt") => {
    const { parent, store } = makeNestedStore();
    const error = await pullError(
      await serveImage(makeImage({ layers: [layer({ name: "ok" }, ...members)] })),
      {
        store,
      },
    );
    expect(error).toMatchObject({ code });
    expect(listStored(store)).toEqual([]);
    expect(readdirSync(join(parent, "a/b"))).toEqual(["layers"]);
    expect(existsSync("/tmp/escaped")).toBe(false);
  });

  test.each<[string, (tar: Buffer) => Buffer]>([
    ["a wrong checksum", (tar) => Buffer.concat([Buffer.from("y"), tar.subarray(1)])],
    ["an incomplete header", (tar) => tar.subarray(0, 300)],
    ["an incomplete file", (tar) => tar.subarray(0, 600)],
    ["text instead of an archive", () => Buffer.from("<html>".repeat(200))],
    ["a second archive after its end", (tar) => Buffer.concat([tar.subarray(0, -512), tar])],
    ["broken gzip data", () => Buffer.from("1f8b0800000000000003ffff", "hex")],
    ["broken zstd data", () => Buffer.from("28b52ffd00ffffffffffffffff", "hex")],
    ["a zstd frame of the wrong kind", () => Buffer.from("502a4d1801000000aa11223344", "hex")],
  ])("%s", async (_name, change) => {
    const broken = change(layer({ name: "x", text: "y".repeat(1_000) }));
    const image = makeImage({ layers: [broken], compress: (tar) => tar });
    expect(await pullError(await serveImage(image))).toMatchObject({ code: "corrupt" });
  });
});

describe("a layer is unpacked that has", () => {
  async function unpack(...members: Member[]): Promise<string> {
    const { layers } = await pull(await serveImage(makeImage({ layers: [layer(...members)] })));
    return layers[0]?.path ?? "";
  }

  test("an entry below an absolute symlink, which stays in the layer", async () => {
    const path = await unpack({ name: "s", type: "2", link: "/etc" }, { name: "s/escaped", text: "inside" });
    expect(readFileSync(join(path, "etc/escaped"), "utf8")).toBe("inside");
    expect(existsSync("/etc/escaped")).toBe(false);
  });

  test("symlinks to anywhere, which are not followed", async () => {
    const path = await unpack({ name: "s", type: "2", link: "/etc/passwd" }, { name: "s", text: "file" });
    expect(readFileSync(join(path, "s"), "utf8")).toBe("file");
  });

  test("the same name several times, of which the last one counts", async () => {
    const path = await unpack(
      { name: "a", text: "1" },
      { name: "b", type: "1", link: "a" },
      { name: "a", text: "2" },
      { name: "c", type: "5" },
      { name: "c", text: "3" },
      { name: "d", type: "2", link: "a" },
      { name: "d", type: "5", mode: 0o755 },
      { name: "d/e", text: "4" },
      { name: "b", type: "1", link: "./b" },
    );
    const files = ["a", "b", "c", "d/e"].map((name) => readFileSync(join(path, name), "utf8"));
    expect(files).toEqual(["2", "1", "3", "4"]);
  });

  test("names that look like options or patterns", async () => {
    const names = ["-rf", "--checkpoint-action=exec=touch x", "*", "a\\n", "$(touch x)", " ", "x;y"];
    const path = await unpack(...names.map((name) => ({ name })));
    expect(readdirSync(path).toSorted()).toEqual(names.toSorted());
  });

  test("folders that not even their owner can write to", async () => {
    const path = await unpack(
      { name: "locked", type: "5", mode: 0o500 },
      { name: "locked/inner", type: "5", mode: 0o000 },
      { name: "locked/file", mode: 0o000, text: "x" },
      { name: "locked/.wh.gone" },
      { name: "locked/.wh..wh..opq" },
    );
    expect(readdirSync(join(path, "locked")).toSorted()).toEqual(["file", "gone", "inner"]);
  });
});
