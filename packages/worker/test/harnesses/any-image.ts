import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { harnessCache } from "../../../../scripts/tests/harness-cache.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { HarnessInstaller } from "../../src/harnesses/install/harness-installer.ts";
import { findPinnedHarness } from "../../src/harnesses/install/pinned-harnesses.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { openProvider } from "../../src/sandboxes/open-provider.ts";
import type { OpenOptions, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { busyboxLayer } from "../images/system-image.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";

const signal = new AbortController().signal;
const installer = new HarnessInstaller({
  cache: harnessCache,
  environment: process.env as Record<string, string>,
});
/** Tests that the real agents run in sandboxes with and without glibc. `commands` start them as ACP servers. */
export function testInAnyImage(commands: Record<string, string>): void {
  let provider: SandboxProvider;
  let root: string;

  beforeAll(async () => {
    root = makeRoot().root;
    provider = await openProvider("local", {
      ...{ root, log: silent, exceptions: parseExceptions("127.0.0.1"), maxLayerBytes: 2 ** 30 },
    });
  });
  afterAll(async () => {
    await provider?.stop();
    await removeFolder(dirname(root));
  });

  for (const system of ["the worker's system", "an image with musl"])
    describe(`with ${system}`, () => {
      let image: Pick<OpenOptions, "image">;
      beforeAll(async () => {
        image = system === "an image with musl" ? { image: await muslImage(provider) } : {};
      });

      test.for(Object.entries(commands))("%s runs", async ([name, command]) => {
        const installed = await installer.install(name, { signal });
        const { bundles, node, packagesPath, version, packages } = installed;
        expect(version).toBe(findPinnedHarness(name)?.version);
        expect(packages).toMatchObject(findPinnedHarness(name)?.packages ?? {});
        const sandbox = await provider.open({
          ...{ id: `agent-${name}`, deadline: inMs(waitOptions.timeout), label: {}, bundles, ...image },
        });
        try {
          const inside = (command: string) => run(sandbox, command, { timeoutMs: waitOptions.timeout });
          const printed = await inside(`${packagesPath}/.bin/${name} --version`);
          expect(printed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(version) });
          // A JavaScript agent starts Node again, with variables of the image that are meant for the image's programs.
          const script = `process.stdout.write(process.execPath); require('child_process').execFileSync(process.execPath, ['-p', '6 * 7'], { stdio: 'inherit' })`;
          const again = await inside(`LD_LIBRARY_PATH=/lib:/usr/lib ${node} -e "${script}"`);
          expect(again).toMatchObject({ exitCode: 0, stdout: `${node}42\n` });
          const lookup = `require('dns').lookup('localhost', (error, address) => console.log(error ?? address))`;
          expect((await inside(`${node} -e "${lookup}"`)).stdout).toMatch(/^(127\.0\.0\.1|::1)\n$/);
          const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
          const answer = await inside(
            [
              `mkfifo in && export ANTHROPIC_API_KEY=x GEMINI_API_KEY=x PATH=$PATH:${packagesPath}/.bin`,
              `${command} < in > out &`,
              `exec 3> in && printf '%s\\n' '${JSON.stringify(initialize)}' >&3`,
              "until grep result out; do sleep 0.1; done",
            ].join("\n"),
          );
          expect(answer).toMatchObject({ stdout: expect.stringContaining('"protocolVersion":1') });
        } finally {
          await sandbox.close();
        }
      });
    });
}

/** An image like Alpine Linux: busybox, and musl in place of glibc. */
async function muslImage(provider: SandboxProvider) {
  const layer = busyboxLayer();
  if (!layer) throw new Error("The tests need /usr/bin/busybox. Install busybox-static.");
  return await pullSystemImage(provider, addMusl(layer));
}

function addMusl(layer: Buffer): Buffer {
  const loader = `/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  if (!existsSync(loader)) throw new Error(`The tests need ${loader}. Install musl.`);
  const folder = mkdtempSync(join(tmpdir(), "outrider-musl-"));
  try {
    execFileSync("tar", ["-C", folder, "-xf", "-"], { input: layer });
    mkdirSync(join(folder, "tmp"));
    chmodSync(join(folder, "tmp"), 0o1777);
    const library = join(dirname(loader), readlinkSync(loader));
    for (const path of [loader, library]) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      cpSync(path, join(folder, path), { verbatimSymlinks: true });
    }
    chmodSync(folder, 0o755);
    return execFileSync("tar", ["--numeric-owner", "-C", folder, "-cf", "-", "."], { maxBuffer: 2 ** 24 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
