/**
 * Downloads the Git LFS files of a commit into the mirror's `lfs` folder, from where they are sent to checkouts in
 * sandboxes. The worker uses the repository's credential and the same address rules and proxy as git. Every object is
 * verified against the size and the SHA-256 of its pointer before it enters the mirror.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createWriteStream, rmSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, ProxyAgent } from "undici";
import { HashingStream } from "../../hashing-stream.ts";
import type { Access } from "../access.ts";
import type { Address, AddressRules } from "../address.ts";
import { git } from "../git.ts";
import { mapConcurrently } from "../map-concurrently.ts";
import { BrokenMirrorError, type Limits, type Mirror } from "../mirror.ts";
import type { Resolved } from "../repository.ts";
import { RepositoryError, setupFailed, unreachable } from "../repository-error.ts";
import { isInCone } from "../sparse.ts";
import { confinedReaderArgs } from "../upload-pack.ts";
import { type LfsAction, LfsClient } from "./lfs-client.ts";
import { findEndpoint } from "./lfs-endpoint.ts";
import { LfsStore } from "./lfs-store.ts";
import { findLfsFiles, type LfsFile, tooManyFiles } from "./pointers.ts";

const MAX_FILES = 20_000;
const BATCH_SIZE = 100;
const ATTEMPTS = 3;
const READ_MS = 60_000;
const MAX_CONFIG_BYTES = 64 * 1024;
const turnOff = "or set `lfs` of the repository to false.";

interface FetchOptions {
  mirror: Mirror;
  resolved: Resolved;
  sparsePaths: string[] | undefined;
  address: Address;
  access: Access;
  rules: AddressRules;
  limits: Limits;
  scratch: string;
  proxyUrl: string | undefined;
  signal: AbortSignal;
}

/** Returns the ids of the files. The caller holds the mirror's lock. Rejects with a RepositoryError. */
export async function fetchLfs(options: FetchOptions): Promise<string[]> {
  const files = await findFiles(options);
  await fetchMissing(options, files);
  return [...new Set(files.map(({ oid }) => oid))];
}

async function fetchMissing(options: FetchOptions, files: LfsFile[]): Promise<void> {
  const { mirror, resolved, address, limits, scratch } = options;
  const store = new LfsStore(mirror.folder);
  const missing = [...new Map(files.map((file) => [file.oid, file])).values()].filter(
    ({ oid }) => !store.has(oid),
  );
  if (missing.length === 0) return;
  const bytes = missing.reduce((sum, { size }) => sum + size, store.bytes());
  if (missing.length > MAX_FILES) throw tooManyFiles(address.url);
  if (bytes > limits.maxBytes) {
    throw setupFailed(
      `The Git LFS files of ${address.url} exceed this worker's size limit of ${limits.maxBytes} bytes.`,
      `Ask the operator to raise the limit, ${turnOff}`,
    );
  }
  const timeout = AbortSignal.timeout(limits.fetchMs);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    if (address.kind === "file") {
      await mapConcurrently(missing, (file) =>
        save(store, { file, scratch, signal }, localSource(options, file)),
      );
    } else
      await download(
        { ...options, signal },
        { missing, store, configuredUrl: await readLfsUrl(options, resolved) },
      );
  } catch (error) {
    options.signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw unreachable(`Downloading the Git LFS files of ${address.url} timed out.`, `Try again, ${turnOff}`);
  }
}

async function findFiles({
  mirror,
  resolved,
  scratch,
  address,
  sparsePaths,
}: FetchOptions): Promise<LfsFile[]> {
  const { commit, tree } = resolved;
  const run: Mirror["run"] = (args, options) => mirror.run(args, options);
  const isIncluded = (path: string) => sparsePaths === undefined || isInCone(path, sparsePaths);
  const options = { commit, attributeFiles: tree.attributeFiles, scratch, url: address.url, isIncluded };
  return await findLfsFiles(run, options).catch((error) => {
    if (!(error instanceof BrokenMirrorError)) throw error;
    throw setupFailed(
      `Cannot determine the Git LFS files of ${address.url}: ${error.message}`,
      `Check the repository's .gitattributes files, ${turnOff}`,
    );
  });
}

/** Reads `lfs.url` of `.lfsconfig`. Other settings in this file are ignored. */
async function readLfsUrl(
  { mirror, signal }: FetchOptions,
  { commit }: Resolved,
): Promise<string | undefined> {
  const blob = `${commit}:.lfsconfig`;
  const read = (args: string[]) =>
    git({ args: ["--git-dir", mirror.folder, "--no-replace-objects", ...args], signal, timeoutMs: READ_MS });
  const { ok, stdout: size } = await read(["cat-file", "-s", blob]);
  if (!ok || Number(size) > MAX_CONFIG_BYTES) return undefined;
  return (await read(["config", "--blob", blob, "--get", "lfs.url"])).stdout.trim() || undefined;
}

async function download(
  { address, access, rules, proxyUrl, scratch, signal }: FetchOptions,
  {
    missing,
    store,
    configuredUrl,
  }: { missing: LfsFile[]; store: LfsStore; configuredUrl: string | undefined },
): Promise<void> {
  const endpoint = await findEndpoint({ address, access, rules, configuredUrl, signal });
  const dispatcher = proxyUrl ? new ProxyAgent({ uri: proxyUrl, proxyTunnel: true }) : new Agent();
  try {
    const client = new LfsClient({
      ...{ repositoryUrl: address.url, endpoint, rules, dispatcher, secrets: access.secrets, signal },
    });
    for (let at = 0; at < missing.length; at += BATCH_SIZE) {
      const files = missing.slice(at, at + BATCH_SIZE);
      const objects = files.map(({ oid, size }) => ({ oid, size }));
      const actions = await withRetries(() => client.batch(objects), signal);
      await mapConcurrently(files, (file) =>
        withRetries(async () => {
          const action: LfsAction = actions.get(file.oid) ?? { problem: "the server does not mention it" };
          if ("problem" in action) throw unavailable(file, action.problem);
          await save(store, { file, scratch, signal }, client.download(action));
        }, signal),
      );
    }
  } finally {
    await dispatcher.destroy();
  }
}

/** Saves an object in the mirror if its content is correct. */
async function save(
  store: LfsStore,
  { file, scratch, signal }: { file: LfsFile; scratch: string; signal: AbortSignal },
  source: Readable | Promise<Readable>,
): Promise<void> {
  const path = join(scratch, `lfs-${randomUUID()}`);
  const hashing = new HashingStream();
  try {
    const output = createWriteStream(path, { mode: 0o600 });
    await pipeline(await source, limitBytes(file), hashing, output, { signal }).catch((error) => {
      signal.throwIfAborted();
      if (error instanceof RepositoryError || error.code === "ENOSPC") throw error;
      throw unreachable(
        `The download of the Git LFS file "${printable(file.path)}" was interrupted.`,
        "Try again.",
      );
    });
    const { sha256, size_bytes } = hashing.result();
    if (sha256 !== file.oid || size_bytes !== file.size) throw wrongContent(file);
    store.add(file.oid, path);
  } finally {
    rmSync(path, { force: true });
  }
}

function limitBytes(file: LfsFile): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > file.size) done(wrongContent(file));
      else done(null, chunk);
    },
  });
}

/**
 * Reads an object of a repository on this machine, where git-lfs stores it. The process that reads it sees only the
 * folders that the operator allows.
 */
function localSource({ address, rules, signal }: FetchOptions, file: LfsFile): Readable {
  const folder = address.url.replace(/^file:\/\//, "");
  const inFolder = join("lfs/objects", file.oid.slice(0, 2), file.oid.slice(2, 4), file.oid);
  const paths = [join(folder, inFolder), join(folder, ".git", inFolder)];
  const script = 'for path; do if [ -f "$path" ]; then exec cat -- "$path"; fi; done; exit 3';
  const [program = "", ...args] = confinedReaderArgs(rules.allowedPaths);
  const child = spawn(program, [...args, "/bin/sh", "-c", script, "sh", ...paths], {
    ...{ stdio: ["ignore", "pipe", "ignore"], cwd: "/", signal },
    env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  });
  const output = new PassThrough();
  child.stdout?.pipe(output, { end: false });
  child.once("error", (error) => output.destroy(error));
  child.once("close", (code) => {
    if (code === 0) output.end();
    else output.destroy(unavailable(file, "it is not in the repository's lfs folder"));
  });
  return output;
}

/** Retries errors of the network and of the server. */
async function withRetries<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      const isTemporary = error instanceof RepositoryError && error.code === "repository_unreachable";
      if (!isTemporary || count === ATTEMPTS) throw error;
      await pause(count * 500, undefined, { signal });
    }
  }
}

function unavailable({ path, oid }: LfsFile, reason: string): RepositoryError {
  return setupFailed(
    `The Git LFS file "${printable(path)}" (${oid}) cannot be downloaded: ${reason}.`,
    `Upload it with \`git lfs push --all\` from a clone that has it, ${turnOff}`,
  );
}

function wrongContent({ path, oid }: LfsFile): RepositoryError {
  return setupFailed(
    `The Git LFS server sent content for "${printable(path)}" that does not match its pointer (${oid}).`,
    `Upload the file again with \`git lfs push --all\`, ${turnOff}`,
  );
}

function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\uFFFD]/gu, "?").slice(0, 200);
}
