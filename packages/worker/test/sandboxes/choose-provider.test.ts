import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Log } from "../../src/log.ts";
import { openChosenProvider, parseSandboxChoice } from "../../src/sandboxes/choose-provider.ts";
import { openProvider, type ProviderOptions, type SandboxKind } from "../../src/sandboxes/open-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "choose-provider-"));
  // The user of the sandboxes must be able to enter it.
  chmodSync(folder, 0o711);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const lines: object[] = [];
const log: Log = {
  info: (fields, message) => void lines.push({ message, ...fields }),
  warn() {},
  error() {},
};
const opened: ProviderOptions[] = [];
beforeEach(() => {
  lines.length = 0;
  opened.length = 0;
});

const docker = { engine: { host: "unix:///run/engine.sock" }, runtime: "runsc" };
const engine = { engine: "podman", engine_version: "5.4.0", runtime: "runsc" };
const withEngine = async (kind: SandboxKind, options: ProviderOptions) => {
  if (kind === "local") return await openProvider(kind, options);
  opened.push(options);
  return { kind, describe: () => engine } as SandboxProvider;
};
const withoutEngine = async (kind: SandboxKind, options: ProviderOptions) => {
  if (kind === "local") return await openProvider(kind, options);
  throw new Error("No container engine runs on this machine. Start Docker or Podman.");
};

/** Chooses where the local provider cannot open, because its folder cannot be created. */
async function chooseWithoutLocal(open: typeof openProvider): Promise<SandboxProvider> {
  const file = join(folder, "file");
  writeFileSync(file, "");
  return await openChosenProvider("auto", { root: join(file, "sandboxes"), log, docker }, open);
}

test("auto uses local sandboxes where they work, even if there is an engine", async () => {
  const provider = await openChosenProvider("auto", { root: join(folder, "local"), log, docker }, withEngine);
  await provider.stop();
  expect(provider.kind).toBe("local");
  expect(opened).toEqual([]);
});

test("auto uses an engine where local sandboxes cannot work, and says so in one line", async () => {
  expect((await chooseWithoutLocal(withEngine)).kind).toBe("docker");
  expect(opened).toMatchObject([{ docker }]);
  expect(lines).toEqual([
    {
      message: "using containers, because local sandboxes cannot work on this machine",
      ...engine,
      reason: expect.stringMatching(/\S/),
    },
  ]);
});

test("auto says what to do if neither works", async () => {
  await expect(chooseWithoutLocal(withoutEngine)).rejects.toThrow(
    /^No sandbox can start on this machine\. Local sandboxes: .+\. Containers: No container engine runs on this machine\. Start Docker or Podman\. Fix either of them\.$/,
  );
});

test("a kind that the operator names is used even if it does not work", async () => {
  await expect(openChosenProvider("docker", { root: folder, log, docker }, withoutEngine)).rejects.toThrow(
    "No container engine runs on this machine. Start Docker or Podman.",
  );
});

test("a choice that does not exist is rejected with those that do", () => {
  expect(parseSandboxChoice("docker", "--sandbox")).toBe("docker");
  expect(parseSandboxChoice("kubernetes", "--sandbox")).toBe("kubernetes");
  expect(() => parseSandboxChoice("nomad", "--sandbox")).toThrow(
    '--sandbox must be auto, local, docker or kubernetes, not "nomad".',
  );
});
