/**
 * Unpacks a downloaded layer into a folder, in the form that overlayfs expects.
 *
 * `LayerStream` checks and rewrites the archive. GNU tar then extracts it inside bubblewrap, where only this folder is
 * writable, there is no network, and tar has no capabilities but those to write files. A mistake in either of them does
 * not reach the host.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { enterIdNamespace, type IdNamespace, openIdNamespace } from "../id-namespace.ts";
import { programFolderArgs } from "../program-folders.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import { explainBwrapError } from "../sandboxes/local/bubblewrap.ts";
import { storeUid } from "../sandboxes/local/systems/uid-ranges.ts";
import type { Budget } from "./budget.ts";
import { decompress } from "./decompress.ts";
import { corrupt, ImageError } from "./image-error.ts";
import { type LayerCounts, LayerStream, type OpaqueFolder } from "./layer-stream.ts";
import { BLOCK, writeHeader } from "./tar-header.ts";

export interface UnpackOptions {
  /** The file with the layer: a tar archive, possibly compressed with gzip or zstd. */
  blob: string;
  /** An empty folder. */
  folder: string;
  /** The digest of the uncompressed archive. */
  diffId: string;
  budget: Budget;
  signal: AbortSignal;
}

export interface UnpackedLayer extends LayerCounts {
  /** The size of the uncompressed archive. */
  archiveBytes: number;
  /** Whether the layer hides all layers below it. */
  isRootOpaque: boolean;
}

const brokenPipeCodes = ["EPIPE", "ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"];
const isRoot = process.getuid?.() === 0;
const idOffset = isRoot ? storeUid : 0;
const opaqueAttribute = "user.overlay.opaque";

export async function unpackLayer(options: UnpackOptions): Promise<UnpackedLayer> {
  const { blob, folder, diffId, budget, signal } = options;
  const ids = isRoot ? undefined : await openIdNamespace();
  const keepsOwners = ids === undefined || ids.count > 1;
  const layer = new LayerStream({ budget, keepsOwners, idOffset });
  const hash = createHash("sha256");
  let archiveBytes = 0;
  const measure = async function* (input: AsyncIterable<Buffer>) {
    for await (const chunk of input) {
      budget.addBytes(chunk.length);
      archiveBytes += chunk.length;
      hash.update(chunk);
      yield chunk;
    }
  };
  const decompressed = await decompress(blob);
  await extract({ folder, signal, ids, attribute: "security.capability" }, (stdin) =>
    pipeline(decompressed, measure, (input: AsyncIterable<Buffer>) => layer.convert(input), stdin, {
      signal,
    }),
  );
  if (`sha256:${hash.digest("hex")}` !== diffId)
    throw corrupt(`The content of a layer does not match its digest ${diffId} in the image's configuration.`);
  const opaque = layer.opaqueFolders();
  if (opaque.length > 0) {
    await extract({ folder, signal, ids, attribute: opaqueAttribute }, (stdin) =>
      pipeline(Readable.from(opaqueArchive(opaque)), stdin, { signal }),
    );
  }
  return { ...layer.counts, archiveBytes, isRootOpaque: layer.isRootOpaque };
}

/** Creates an archive that marks folders as opaque. It repeats their other attributes, which tar writes again. */
function* opaqueArchive(folders: OpaqueFolder[]): Generator<Buffer> {
  const xattrs = { [opaqueAttribute]: Buffer.from("y") };
  for (const { path, mode, uid, gid, mtime } of folders)
    yield writeHeader(
      { type: "5", name: path, linkName: "", mode, uid, gid, size: 0, mtime, xattrs },
      idOffset,
    );
  yield Buffer.alloc(2 * BLOCK);
}

/** Runs tar on what `send` writes to it. */
async function extract(
  {
    folder,
    signal,
    ids,
    attribute,
  }: { folder: string; signal: AbortSignal; ids: IdNamespace | undefined; attribute: string },
  send: (stdin: Writable) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const [program, ...args] = [
    // With only one id, bubblewrap creates the namespace itself.
    ...(ids && ids.count > 1 ? ["nsenter", ...enterIdNamespace(ids)] : []),
    ...["bwrap", ...isolationArgs(folder, ids), "tar", ...tarArgs(attribute, ids)],
  ] as [string, ...string[]];
  const tar = spawn(program, args, {
    stdio: ["pipe", "ignore", "pipe"],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
  });
  const ended = waitForEnd(tar);
  // A failed pipeline closes stdin, and tar exits when its input ends. It must not be killed: bubblewrap's child would
  // wait forever if its parent died while both of them start.
  const sendError: NodeJS.ErrnoException | undefined = await send(tar.stdin).then(
    () => undefined,
    (error) => error,
  );
  const { exitCode, message } = await ended;
  signal.throwIfAborted();
  // If tar stopped reading, its own message is the reason.
  if (sendError && !brokenPipeCodes.includes(sendError.code ?? "")) throw asImageError(sendError);
  if (exitCode === 0 && !sendError) return;
  if (/^(bwrap:|spawn )/.test(message)) throw new Error(explainBwrapError(message), { cause: sendError });
  throw new Error(`Failed to unpack a layer: ${message || `tar exited with code ${exitCode}`}.`, {
    cause: sendError,
  });
}

/** Resolves once tar has exited and no process has its stderr open, so that the folder can be removed. */
async function waitForEnd(
  tar: ChildProcess & { stderr: Readable },
): Promise<{ exitCode: number | null; message: string }> {
  const stderr = firstBytes(tar.stderr, 2_000);
  try {
    const [exitCode] = await once(tar, "close");
    return { exitCode, message: (await stderr).toString().trim() };
  } catch (error) {
    return { exitCode: 1, message: (error as Error).message };
  }
}

function isolationArgs(folder: string, ids: IdNamespace | undefined): string[] {
  const hasSingleId = ids?.count === 1;
  const capabilities = !hasSingleId
    ? ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETFCAP"]
    : ["CAP_DAC_OVERRIDE", "CAP_FOWNER"];
  return [
    ...(hasSingleId ? ["--unshare-user", "--uid", "0", "--gid", "0"] : []),
    ...["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...["--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"],
    ...["--cap-drop", "ALL", ...capabilities.flatMap((name) => ["--cap-add", name])],
    ...programFolderArgs(),
    ...["--bind", folder, "/layer", "--remount-ro", "/", "--chdir", "/layer"],
  ];
}

function tarArgs(attribute: string, ids: IdNamespace | undefined): string[] {
  return [
    ...["--extract", "--file=-", "--same-permissions", "--numeric-owner", "--delay-directory-restore"],
    ids?.count === 1 ? "--no-same-owner" : "--same-owner",
    // Symlinks are written as they are. Names in the archive are never absolute.
    ...["--absolute-names", "--xattrs", `--xattrs-include=${attribute}`, "--warning=none"],
  ];
}

function asImageError(error: Error): Error {
  if (error instanceof ImageError) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  return /^(Z_|ZSTD_)/.test(code)
    ? corrupt("A layer's compressed data is invalid.", { cause: error })
    : error;
}
