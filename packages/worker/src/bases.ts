import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ReadyBuild } from "@outrider/contract/worker";
import { Hashing } from "./hashing.ts";
import type { Log, Sandbox, SandboxProvider, Spawned } from "./sandboxes/sandbox.ts";
import type { Server } from "./server.ts";

const FETCH_NS = 60n * 60_000_000_000n;

/** Both run inside: whatever stands in the files, it can do there what a command could. */
const packScript = `
set -o pipefail
tar -C / --format=pax --pax-option=delete=atime,delete=ctime --sparse --sort=name --owner=0 --group=0 \\
  --numeric-owner --ignore-failed-read -cf - workspace home/sandbox 2> /dev/null | gzip -1
codes=("\${PIPESTATUS[@]}")
((codes[0] < 2 && codes[1] == 0))
`;
const unpackScript = "exec tar -C / --no-same-owner --same-permissions -xzf -";

/** Waits for the bytes and for the end of the program that they come from or go to. */
async function passThrough(program: Spawned, transfer: () => Promise<void>): Promise<void> {
  let complaint = "";
  program.stderr.on("data", (data: Buffer) => {
    complaint = (complaint + data).slice(-1_000);
  });
  const [broken, { exitCode }] = await Promise.all([
    transfer().catch((error: Error) => {
      void program.kill();
      return error;
    }),
    program.ended,
  ]);
  if (exitCode === 0 && !broken) return;
  throw new Error(
    `The build's files cannot be moved: ${complaint.trim() || broken?.message || `exit code ${exitCode}`}`,
  );
}

interface BasesOptions {
  provider: SandboxProvider;
  server: Server;
  /** Where files wait that come or go. */
  folder: string;
  /** What bases may take of the disk; the least recently used go first. */
  maxBytes: number;
  log: Log;
}

/** The builds that lie on this worker's disk, ready to start from. Each has the id of its build as its name. */
export class Bases {
  private readonly options: BasesOptions;
  private readonly coming = new Map<string, Promise<void>>();

  constructor(options: BasesOptions) {
    this.options = options;
  }

  /** Makes the files of a sandbox the build's, here and at the server, and closes the sandbox. */
  async store(
    sandbox: Sandbox,
    buildId: string,
    signal: AbortSignal,
  ): Promise<{ sha256: string; size_bytes: number }> {
    const { provider, server, folder } = this.options;
    const file = join(folder, `${buildId}.base`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      const hashing = new Hashing();
      const tar = await sandbox.spawn(packScript, { signal });
      await passThrough(tar, () => pipeline(tar.stdout, hashing, createWriteStream(file, { mode: 0o600 })));
      const { sha256, size_bytes } = hashing.result();
      await server.putBlob(file, sha256, signal);
      await provider.keepBase(sandbox, buildId);
      void this.collect();
      return { sha256, size_bytes };
    } finally {
      await rm(file, { force: true });
    }
  }

  /** The name of the build's base, which is fetched from the server where it is not here. */
  async ensure(build: ReadyBuild, signal: AbortSignal): Promise<string> {
    const { build_id } = build;
    if (this.isHere(build_id)) return build_id;
    const coming =
      this.coming.get(build_id) ?? this.fetch(build, signal).finally(() => this.coming.delete(build_id));
    this.coming.set(build_id, coming);
    await coming.catch(() => {});
    signal.throwIfAborted();
    // Who fetched it may have been cancelled; then it is ours to fetch.
    if (!this.isHere(build_id)) await this.fetch(build, signal);
    return build_id;
  }

  private isHere(name: string): boolean {
    return this.options.provider.listBases().some((base) => base.name === name);
  }

  private async fetch({ build_id, sha256 }: ReadyBuild, signal: AbortSignal): Promise<void> {
    const { provider, server, folder } = this.options;
    const file = join(folder, `${build_id}.fetched`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const deadline = process.hrtime.bigint() + FETCH_NS;
    const sandbox = await provider.open({ id: `fetch-${build_id}`, deadline, label: { build_id } });
    try {
      const hashing = new Hashing();
      const draft = createWriteStream(file, { mode: 0o600 });
      await pipeline(await server.getBlob(sha256, signal), hashing, draft, { signal });
      if (hashing.result().sha256 !== sha256) throw new Error("The build's files came with errors.");
      const tar = await sandbox.spawn(unpackScript, { signal });
      await passThrough(tar, () => pipeline(createReadStream(file), tar.stdin));
      await provider.keepBase(sandbox, build_id);
      void this.collect();
    } catch (error) {
      await sandbox.close().catch(() => {});
      throw error;
    } finally {
      await rm(file, { force: true });
    }
  }

  /** One that is in use stays, and is looked at again the next time. */
  private async collect(): Promise<void> {
    const { provider, maxBytes, log } = this.options;
    const bases = provider.listBases().sort((a, b) => b.usedAt - a.usedAt);
    let bytes = 0;
    for (const base of bases) {
      bytes += base.bytes;
      if (bytes <= maxBytes || base === bases[0]) continue;
      await provider.removeBase(base.name).catch((error) => log.warn({ error }, "a base stays"));
    }
  }
}
