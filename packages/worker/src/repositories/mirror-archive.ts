/**
 * A tar archive of what checkouts inside a sandbox need from mirrors. The checkout scripts (checkout-functions.ts) read it
 * from their stdin, so that sandboxes have no access to the mirrors. For the mirror with the number N, it contains:
 *
 *     N/default        the full name of the default branch, if there is one
 *     N/packed-refs    for a new clone: its refs
 *     N/updates        for an existing clone: commands for `git update-ref --stdin`
 *     N/pack/…         packs with their indexes
 *     N/lfs/objects/…  Git LFS files
 *
 * A new clone gets the mirror's packs as they are, which takes milliseconds, whereas git's protocol would take seconds or
 * minutes. An existing clone gets one new pack with the objects that it lacks. If the mirror is partial, git cannot make
 * such a pack, so it gets the packs that it lacks.
 *
 * The mirror's lock is held only until the packs are open: another fetch may then repack the mirror, which removes the
 * names of the files but not the files.
 */
import { randomUUID } from "node:crypto";
import { closeSync, createReadStream, fstatSync, openSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { tarEnd, tarHeader, tarPadding } from "../tar-header.ts";
import type { CacheFolders } from "./cache-folders.ts";
import type { KnownObjects } from "./known-objects.ts";
import { lfsObjectPath } from "./lfs/lfs-store.ts";
import { acquireLock } from "./lock.ts";
import { Mirror } from "./mirror.ts";

const CHUNK_BYTES = 256 * 1024;
const packFile = /^pack-([0-9a-f]{40,64})\.(?:pack|idx|rev|promisor)$/;

/** What a checkout needs from one mirror. */
export interface MirrorRequest {
  mirror: string;
  commit: string;
  /** Whether the mirror is partial. */
  isPartial: boolean;
  /** The ids of the Git LFS files that the checkout needs. */
  lfsObjects: string[];
  /** What the clone has, if it exists. */
  known?: KnownObjects | undefined;
}

interface Entry {
  name: string;
  /** An open file, or the content. */
  content: number | string;
}

export function streamMirrors(
  requests: MirrorRequest[],
  options: { folders: CacheFolders; signal: AbortSignal },
): Readable {
  return Readable.from(archive(requests, options), { objectMode: false });
}

async function* archive(
  requests: MirrorRequest[],
  options: { folders: CacheFolders; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  for (const [index, request] of requests.entries()) {
    const { entries, lfsFiles } = await openEntries(request, options);
    const files = entries.flatMap(({ content }) => (typeof content === "number" ? [content] : []));
    try {
      for (const { name, content } of entries) yield* entry(`${index}/${name}`, content);
    } finally {
      for (const file of files) closeSync(file);
    }
    for (const { name, path } of lfsFiles) {
      // A file that has expired since it was fetched is left out; the checkout then contains its pointer.
      const file = openIfExists(path);
      if (file === undefined) continue;
      try {
        yield* entry(`${index}/${name}`, file);
      } finally {
        closeSync(file);
      }
    }
  }
  yield tarEnd;
}

async function* entry(name: string, content: number | string): AsyncGenerator<Buffer> {
  if (typeof content === "string") {
    const data = Buffer.from(content);
    yield Buffer.concat([
      tarHeader(Buffer.from(name), { size: data.length, mode: 0o644 }),
      data,
      tarPadding(data.length),
    ]);
    return;
  }
  const { size } = fstatSync(content);
  yield tarHeader(Buffer.from(name), { size, mode: 0o444 });
  if (size > 0)
    yield* createReadStream("", {
      ...{ fd: content, autoClose: false, start: 0, end: size - 1, highWaterMark: CHUNK_BYTES },
    }) as AsyncIterable<Buffer>;
  yield tarPadding(size);
}

/** Opens the files of a mirror. The caller closes them. */
async function openEntries(
  request: MirrorRequest,
  { folders, signal }: { folders: CacheFolders; signal: AbortSignal },
): Promise<{ entries: Entry[]; lfsFiles: { name: string; path: string }[] }> {
  const { mirror: folder, known, isPartial } = request;
  const { scratch, locks } = folders;
  using lock = await acquireLock(join(locks, basename(folder, ".git")), signal);
  const mirror = Mirror.openExisting({ folder, scratch, lock, signal });
  const refs = await listRefs(mirror);
  const lfsFiles = request.lfsObjects
    .filter((oid) => !known?.lfsObjects.has(oid))
    .map((oid) => ({
      name: `lfs/objects/${lfsObjectPath(oid)}`,
      path: join(folder, "lfs/objects", lfsObjectPath(oid)),
    }));
  const named: Entry[] = [
    { name: "default", content: `${await mirror.defaultBranch()}\n` },
    known
      ? { name: "updates", content: updatesOf(refs) }
      : { name: "packed-refs", content: packedRefsOf(refs) },
  ];
  const packs =
    known && !isPartial
      ? await openMissingObjects(mirror, { request, known, refs, scratch })
      : openPacks(join(folder, "objects/pack"), known?.packs);
  return { entries: [...named, ...packs], lfsFiles };
}

interface Ref {
  object: string;
  name: string;
}

/** Lists the mirror's branches and tags, with the names that they have in a clone. */
async function listRefs(mirror: Mirror): Promise<Ref[]> {
  const format = "--format=%(objectname) %(refname)";
  const lines = (await mirror.run(["for-each-ref", format, "refs/heads", "refs/tags"])).split("\n");
  return lines.filter(Boolean).map((line) => {
    const [object = "", ref = ""] = line.split(" ");
    return { object, name: ref.replace(/^refs\/heads\//, "refs/remotes/origin/") };
  });
}

const packedRefsOf = (refs: Ref[]) =>
  `# pack-refs with: sorted \n${refs.map(({ object, name }) => `${object} ${name}\n`).join("")}`;

const updatesOf = (refs: Ref[]) => refs.map(({ object, name }) => `update ${name} ${object}\n`).join("");

function openPacks(folder: string, except?: ReadonlySet<string>): Entry[] {
  const names = readdirSync(folder).filter((name) => {
    const [, pack] = packFile.exec(name) ?? [];
    return pack !== undefined && !except?.has(pack);
  });
  return openAll(names.map((name) => ({ name: `pack/${name}`, path: join(folder, name) })));
}

/** Makes a pack with the objects that a clone lacks, and opens it. */
async function openMissingObjects(
  mirror: Mirror,
  {
    request,
    known,
    refs,
    scratch,
  }: { request: MirrorRequest; known: KnownObjects; refs: Ref[]; scratch: string },
): Promise<Entry[]> {
  const wanted = [request.commit, ...refs.map(({ object }) => object)];
  const missing = new Set(await mirror.findMissing(known.commits));
  const present = known.commits.filter((commit) => !missing.has(commit));
  const draft = `pack-${randomUUID()}`;
  const stdin = [...new Set(wanted), ...present.map((commit) => `^${commit}`)].map((line) => `${line}\n`);
  const drafts = () => readdirSync(scratch).filter((name) => name.startsWith(draft));
  try {
    await mirror.run(["pack-objects", "--quiet", "--revs", "--non-empty", join(scratch, draft)], {
      stdin: stdin.join(""),
    });
    return openAll(
      drafts().map((name) => ({ name: `pack/pack${name.slice(draft.length)}`, path: join(scratch, name) })),
    );
  } finally {
    for (const name of drafts()) rmSync(join(scratch, name), { force: true });
  }
}

function openAll(files: { name: string; path: string }[]): Entry[] {
  const opened: { name: string; content: number }[] = [];
  try {
    for (const { name, path } of files) opened.push({ name, content: openSync(path, "r") });
    return opened;
  } catch (error) {
    for (const { content } of opened) closeSync(content);
    throw error;
  }
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
