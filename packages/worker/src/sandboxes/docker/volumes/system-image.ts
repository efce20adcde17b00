/**
 * The system of containers without an image, and of the containers in which the worker's own scripts run.
 *
 * On Linux it is made from the worker's own programs, because that needs no registry: its name contains a hash of what
 * it consists of, so it is made only once for an engine, and again after an update of the worker's machine. Other systems
 * have no programs for containers, so their engine pulls an image. An operator can name another one instead.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Log } from "../../../log.ts";
import { type ArchiveEntry, packEntries } from "../../files/pack-files.ts";
import type { Owner } from "../../owner.ts";
import { sandboxPaths } from "../../paths.ts";
import type { Engine } from "../engine/connect.ts";
import { EngineError, isEngineError } from "../engine/errors.ts";
import { readProgress } from "../engine/progress.ts";
import { sharedLabels, sharedObjectName } from "../labels.ts";
import { listSystemFiles } from "./system-files.ts";

export interface SystemImageOptions {
  owner: Pick<Owner, "installation">;
  /** The image to use instead. It must have bash, git, tar and gzip. */
  image?: string | undefined;
  signal?: AbortSignal | undefined;
  log?: Log;
  /** The system of the worker. Default: this one. */
  platform?: NodeJS.Platform;
}

/** The default where the worker does not run on Linux. */
export const pulledSystemImage = "buildpack-deps:bookworm-scm";
export const systemImageKind = "system-image";
/** Changes if the image differs although the files of the machine are the same. */
const FORMAT = 1;
const user = { uid: 1000, gid: 1000 };

const files: Record<string, string> = {
  "etc/passwd":
    "root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
  "etc/group": "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  "etc/npmrc": `prefix=${sandboxPaths.home}/.local\n`,
};
const folder = (path: string, mode = 0o755, owner = {}): ArchiveEntry => ({
  ...{ path, mode, ...owner, content: { type: "folder" as const } },
});
const folders = [
  ...["dev", "etc", "home", "opt", "proc", "root", "run", "srv", "sys", "usr", "usr/local"].map((path) =>
    folder(path),
  ),
  ...["usr/local/bin", "var", "var/lib", "var/log"].map((path) => folder(path)),
  ...["tmp", "var/tmp"].map((path) => folder(path, 0o1777)),
  folder(sandboxPaths.home.slice(1), 0o755, user),
  folder(sandboxPaths.workspace.slice(1), 0o755, user),
];

/** Returns the id of the image. Makes or pulls it if the engine does not have it. */
export async function ensureSystemImage(engine: Engine, options: SystemImageOptions): Promise<string> {
  const { owner, signal, log, platform = process.platform } = options;
  const { image = platform === "linux" ? undefined : pulledSystemImage } = options;
  if (image !== undefined) {
    const known = await findImage(engine, image);
    if (known !== undefined) return known;
    log?.info({ image }, "pulling the system image of sandboxes");
    return await pullSystemImage(engine, image, signal);
  }
  const entries = await listSystemImageEntries();
  const content = hashEntries(entries);
  const name = `${sharedObjectName(owner, "system")}:${content}`;
  const found = await findImage(engine, name);
  if (found !== undefined) return found;
  log?.info({ image: name }, "making the system image of sandboxes, which takes up to a minute");
  const labels = sharedLabels(owner, { kind: systemImageKind, content });
  return await importEntries(engine, { name, entries, labels, signal });
}

async function findImage({ docker }: Engine, name: string): Promise<string | undefined> {
  try {
    return (await docker.getImage(name).inspect()).Id;
  } catch (error) {
    if (isEngineError(error, "image_not_found", "not_found")) return undefined;
    throw error;
  }
}

async function pullSystemImage(engine: Engine, image: string, signal?: AbortSignal): Promise<string> {
  try {
    await readProgress(await engine.docker.pull(image, signal ? { abortSignal: signal } : {}));
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new EngineError(
      error.code,
      `The system image ${image} cannot be pulled. ${error.message} Or set OUTRIDER_DOCKER_SYSTEM_IMAGE to another image.`,
      { cause: error },
    );
  }
  const found = await findImage(engine, image);
  if (found !== undefined) return found;
  throw new EngineError(
    "image_not_found",
    `The container engine pulled ${image}, but does not have it. Set OUTRIDER_DOCKER_SYSTEM_IMAGE to another image.`,
  );
}

/** Returns what the default system of containers consists of. */
export async function listSystemImageEntries(): Promise<ArchiveEntry[]> {
  const own = new Map([
    ...folders.map((entry) => [entry.path, entry] as const),
    ...Object.entries(files).map(([path, text]): [string, ArchiveEntry] => [
      path,
      { path, mode: 0o644, content: { type: "data", data: Buffer.from(text) } },
    ]),
  ]);
  const found = (await listSystemFiles()).filter(({ path }) => !own.has(path));
  return [...own.values(), ...found].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The sizes and times of files identify their content well enough, as for make. */
function hashEntries(entries: ArchiveEntry[]): string {
  const hash = createHash("sha256").update(`${FORMAT}\n`);
  for (const { path, mode, uid, modifiedAt, content } of entries) {
    const facts =
      content.type === "data"
        ? content.data.toString()
        : content.type === "file"
          ? [content.size, modifiedAt]
          : content;
    hash.update(`${JSON.stringify([path, mode, uid, facts])}\n`);
  }
  return hash.digest("hex").slice(0, 32);
}

/**
 * Imports an archive as an image with one layer, and returns its id. The name appears only when the image is complete, and
 * moves to the new image if another worker has imported one meanwhile.
 */
export async function importEntries(
  { docker }: Engine,
  options: {
    name: string;
    entries: Iterable<ArchiveEntry>;
    labels: Record<string, string>;
    signal?: AbortSignal | undefined;
  },
): Promise<string> {
  const { name, entries, labels, signal } = options;
  const changes = Object.entries(labels).map(([key, value]) => `LABEL ${key}=${JSON.stringify(value)}`);
  const archive = Readable.from(packEntries(entries), { objectMode: false });
  let id = "";
  try {
    // Podman ignores the tag here, so the image is tagged below.
    const stream = await docker.importImage(archive, { changes, ...(signal ? { abortSignal: signal } : {}) });
    await readProgress(stream, ({ status }) => {
      if (status?.startsWith("sha256:")) id = status;
    });
  } finally {
    archive.destroy();
  }
  const [repo = name, tag = "latest"] = name.split(":");
  await docker.getImage(id).tag({ repo, tag });
  return id;
}
