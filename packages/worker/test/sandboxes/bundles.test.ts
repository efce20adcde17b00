import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  findRipgrep,
  installPrograms,
  nativeProgram,
  programArchitecture,
} from "../../src/sandboxes/files/programs.ts";
import { storeBundle } from "../../src/sandboxes/store-bundle.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-bundles-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a bundle is stored once per content, readable for every user", () => {
  const text = (name: string, content: string) => ({ name, content: Buffer.from(content) });
  const program = { ...text("run", "#!/bin/sh\n"), isExecutable: true };
  const bundle = storeBundle(folder, "/opt/x", [text("a", "1"), program]);
  expect(bundle).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{64}$/),
    target: "/opt/x",
    folder: join(folder, bundle.id),
  });
  expect(readFileSync(join(bundle.folder, "a"), "utf8")).toBe("1");
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect([".", "a", "run"].map((name) => modeOf(join(bundle.folder, name)))).toEqual(["755", "644", "755"]);
  expect(storeBundle(folder, "/opt/x", [program, text("a", "1")])).toEqual(bundle);
  const others = [
    storeBundle(folder, "/opt/x", [text("a", "2"), program]),
    storeBundle(folder, "/opt/x", [text("a", "1"), { ...program, isExecutable: false }]),
    storeBundle(folder, "/opt/x", [text("b", "1"), program]),
  ];
  const ids = [bundle, ...others].map(({ id }) => id);
  expect(readdirSync(folder).sort()).toEqual(ids.sort());
});

test("the programs of an earlier version are removed", async () => {
  mkdirSync(join(folder, ".programs/0123"), { recursive: true });
  writeFileSync(join(folder, ".programs/rg"), "old");
  const { id } = await installPrograms(folder);
  expect(readdirSync(join(folder, ".programs"))).toEqual([id]);
  expect(await installPrograms(folder)).toMatchObject({ id });
});

test("the programs are for Linux on every system", async () => {
  expect(await findRipgrep("linux")).toMatch(/ripgrep-linux-\w+\/bin\/rg$/);
  expect(await findRipgrep("darwin")).toBe(nativeProgram("rg"));
});

test("the architecture of the programs is that of their files", () => {
  const write = (machine: number) => {
    const file = join(folder, "program");
    writeFileSync(file, Buffer.concat([Buffer.alloc(18), Buffer.from([machine, 0])]));
    return file;
  };
  expect(programArchitecture(write(62))).toBe("amd64");
  expect(programArchitecture(write(183))).toBe("arm64");
  expect(programArchitecture(write(22))).toBe("the architecture 22");
  expect(() => programArchitecture(join(folder, "none"))).toThrow(
    "The sandbox programs are not built: run scripts/setup in Outrider's folder.",
  );
});
