import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readLoader, setLoader } from "../../src/harnesses/install/elf-loader.ts";

const paths = { loader: "/opt/outrider/lib/ld.so", libraries: "/opt/outrider/lib" };
/** A small dynamic program. Its header and the segments that the edit needs are all in the file. */
const program = "/bin/ls";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-elf-"));
  file = join(folder, "program");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a program gets another loader without a change of its size", async () => {
  copyFileSync(program, file);
  const before = readFileSync(file);
  const old = await readLoader(file);
  expect(old).toMatch(/^\/lib.*\/ld-/);
  expect(await setLoader(file, paths)).toBe(true);
  expect(await readLoader(file)).toBe(paths.loader);
  const after = readFileSync(file);
  expect(after.length).toBe(before.length);
  const changed = after.reduce((sum, byte, index) => sum + (byte === before[index] ? 0 : 1), 0);
  expect(changed).toBeLessThan(100);
  expect(after.includes(`${paths.libraries}\0`)).toBe(true);
});

test("a program without space for the path, a static program and other files stay as they are", async () => {
  for (const content of [readFileSync("/usr/bin/busybox"), Buffer.from("#!/bin/sh\n"), Buffer.alloc(0)]) {
    writeFileSync(file, content);
    expect(await readLoader(file)).toBeUndefined();
    expect(await setLoader(file, paths)).toBe(false);
    expect(readFileSync(file).equals(content)).toBe(true);
  }
  copyFileSync(program, file);
  expect(await setLoader(file, { ...paths, loader: `/${"x".repeat(100)}` })).toBe(false);
  expect(await setLoader(file, { ...paths, libraries: `/${"x".repeat(100)}` })).toBe(false);
  expect(readFileSync(file).equals(readFileSync(program))).toBe(true);
});

test("damaged programs cause no error", async () => {
  const content = readFileSync(program);
  for (const size of [3, 40, 64, 100, 500, 1_000]) {
    writeFileSync(file, content.subarray(0, size));
    await setLoader(file, paths);
  }
  // Every byte of the header and the segment table is replaced once.
  for (let at = 4; at < 64 + 56 * 14; at++) {
    const damaged = Buffer.from(content);
    damaged[at] = (damaged[at] as number) ^ 0xff;
    writeFileSync(file, damaged);
    await setLoader(file, paths);
    expect(readFileSync(file).length).toBe(content.length);
  }
});
