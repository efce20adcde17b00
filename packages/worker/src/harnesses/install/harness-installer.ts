/**
 * Installs agents on the worker, so that sandboxes can use them. npm downloads the packages, on the host and without
 * running any of their code, and verifies them with the hashes of a lock file. Below the cache folder, an agent is in
 * NAME/KEY, where the key depends on the lock file and the worker's system. Such a folder never changes. NAME/KEY.json is
 * its record, and NAME/KEY.lock is locked while the folder is created or removed and has the time of its last use.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure, messageOf } from "@outrider/agent/failure";
import type { WorkerHarness } from "@outrider/contract/harness";
import { acquireLock, type Lock, recordUse, tryLock } from "../../repositories/lock.ts";
import { agentPaths } from "../../sandboxes/paths.ts";
import { checkPackages, describePackages } from "./check-packages.ts";
import { downloadPackages } from "./download-packages.ts";
import type { HarnessRecord, InstalledHarness, InstallOptions } from "./installed-harness.ts";
import { findNpm } from "./npm.ts";
import {
  findPinnedHarness,
  type PinnedHarness,
  pinnedHarnessNames,
  readPinnedLock,
} from "./pinned-harnesses.ts";
import { prunePackages } from "./prune-packages.ts";
import { libcOf, runtimeNode, storeRuntime } from "./runtime-bundle.ts";
import { hashTree } from "./seal-tree.ts";

/** Changes when the files of an installed agent change in another way than by the lock file. */
const FORMAT = 2;

export interface HarnessInstallerOptions {
  /** The folder in which this worker stores agents. Several workers can share it. */
  cache: string;
  /** A folder that `outrider harness install --folder` has filled. With it, nothing is downloaded. */
  folder?: string | undefined;
  /** The variables with which npm finds its configuration. */
  environment: Record<string, string>;
  timeoutMs?: number;
  maxBytes?: number;
}

/** What an agent consists of, and where its files are. */
interface Source {
  name: string;
  pinned: PinnedHarness;
  /** Undefined if the operator has chosen the versions. */
  lockText: string | undefined;
  key: string;
  platform: string;
}

export class HarnessInstaller {
  readonly #options: HarnessInstallerOptions;
  /** The content of the offline folder is verified once in the life of a worker. */
  readonly #verified = new Map<string, Promise<void>>();

  constructor(options: HarnessInstallerOptions) {
    this.#options = options;
  }

  /** Rejects with a Failure that says what the operator can do. */
  async install(name: string, options: InstallOptions): Promise<InstalledHarness> {
    const { cache, folder } = this.#options;
    return await this.#explain(name, options, async (source) => {
      const parent = join(folder ?? cache, name);
      const record = await (folder ? this.#verify(source, options) : this.#download(source, options));
      const packages = {
        ...{ id: record.sha256, folder: join(parent, source.key), target: agentPaths.agentPackages },
      };
      return {
        name,
        version: record.version,
        packages: record.packages,
        bundles: [packages, await storeRuntime(join(cache, ".runtime"), options.signal)],
        node: runtimeNode,
        packagesPath: `${agentPaths.agentPackages}/node_modules`,
      };
    });
  }

  async #explain<T>(
    name: string,
    { packages, signal }: InstallOptions,
    work: (source: Source) => Promise<T>,
  ): Promise<T> {
    const source = await findSource(name, packages);
    try {
      return await work(source);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      const message = `The worker cannot install ${name}: ${messageOf(error)}`;
      throw new Failure("harness_failed", message, { cause: error });
    }
  }

  /** Installs an agent for later, without Node for sandboxes. Rejects like `install`. */
  async download(name: string, options: InstallOptions): Promise<HarnessRecord> {
    return await this.#explain(name, options, (source) => this.#download(source, options));
  }

  /** Returns the record of an agent if it is installed. */
  async find(name: string, packages?: Record<string, string>): Promise<HarnessRecord | undefined> {
    const source = await findSource(name, packages);
    return await readRecord(join(this.#options.folder ?? this.#options.cache, name), source.key);
  }

  /** Lists the pinned agents. It is fast enough for every heartbeat. */
  async list(): Promise<WorkerHarness[]> {
    const { folder, environment } = this.#options;
    return await Promise.all(
      pinnedHarnessNames.map(async (name) => {
        const record = await this.find(name);
        const version = record?.version ?? findPinnedHarness(name)?.version;
        const problem = record
          ? undefined
          : folder
            ? "OUTRIDER_HARNESS_FOLDER does not contain it"
            : findNpm(environment) === undefined
              ? "npm, which installs it, is not on PATH"
              : undefined;
        return {
          ...{ name, installed: record !== undefined },
          ...(version ? { version } : {}),
          ...(problem ? { problem } : {}),
        };
      }),
    );
  }

  async #verify(source: Source, { signal, onProgress }: InstallOptions): Promise<HarnessRecord> {
    const { name, key, platform } = source;
    const { folder = "" } = this.#options;
    const parent = join(folder, name);
    const record = await readRecord(parent, key);
    if (!record) {
      const wanted = `${describePackages(source.pinned.packages)} for ${platform}`;
      throw new Failure(
        "harness_failed",
        `The worker's OUTRIDER_HARNESS_FOLDER does not contain ${name} (${wanted}). The operator must run \`outrider harness install ${name} --folder …\` with the same version of Outrider on a similar machine with access to an npm registry, and copy the folder.`,
      );
    }
    onProgress?.({ step: "checking", bytes: record.bytes });
    const verify = async () => {
      const { sha256 } = await hashTree(join(parent, key), signal);
      if (sha256 === record.sha256) return;
      throw new Failure(
        "harness_failed",
        `The files of ${name} in the worker's OUTRIDER_HARNESS_FOLDER have changed since they were installed. The operator must copy the folder again.`,
      );
    };
    const verified = this.#verified.get(key) ?? verify();
    this.#verified.set(key, verified);
    // A run that is cancelled while it verifies must not fail later ones.
    await verified.catch((error) => {
      this.#verified.delete(key);
      throw error;
    });
    return record;
  }

  async #download(source: Source, options: InstallOptions): Promise<HarnessRecord> {
    const { name, key } = source;
    const { cache } = this.#options;
    const parent = join(cache, name);
    await mkdir(parent, { recursive: true });
    // The Unix accounts of sandboxes must be able to read the files.
    for (const path of [cache, parent]) await chmod(path, 0o755);
    const installed = await readRecord(parent, key);
    using lock = installed ? tryLock(join(parent, `${key}.lock`), { shared: true }) : undefined;
    if (installed && lock && existsSync(join(parent, key))) {
      recordUse(lock);
      return installed;
    }
    lock?.[Symbol.dispose]();
    using exclusive = await this.#lock(join(parent, `${key}.lock`), options);
    recordUse(exclusive);
    const record = (await readRecord(parent, key)) ?? (await this.#create(source, exclusive, options));
    await prunePackages(parent, { keep: key });
    return record;
  }

  async #lock(path: string, { signal, onProgress }: InstallOptions): Promise<Lock> {
    const lock = tryLock(path);
    if (lock) return lock;
    onProgress?.({ step: "waiting", bytes: 0 });
    return await acquireLock(path, signal);
  }

  async #create(source: Source, lock: Lock, options: InstallOptions): Promise<HarnessRecord> {
    const { name, key, platform, pinned } = source;
    const { cache, environment, timeoutMs, maxBytes } = this.#options;
    const parent = join(cache, name);
    const folder = join(parent, key);
    const draft = `${folder}.draft`;
    // What an interrupted installation has left.
    for (const path of [folder, draft]) await rm(path, { recursive: true, force: true });
    // The lock of versions that the operator has chosen is made once, so that later installations verify its hashes.
    const lockFile = join(parent, `${key}.packages.json`);
    const lockText = source.lockText ?? (await readFile(lockFile, "utf8").catch(() => undefined));
    try {
      const downloaded = await downloadPackages(draft, {
        ...{ name, pinned, lockText, platform, environment, timeoutMs, maxBytes },
        ...{ lock: lock.file, signal: options.signal, onProgress: options.onProgress },
      });
      if (!lockText) await writeFile(lockFile, downloaded.lockText);
      const record: HarnessRecord = { name, platform, ...downloaded.record };
      await rename(draft, folder);
      // Written last: a folder without a record is not used.
      await writeFile(join(parent, `${key}.json.new`), `${JSON.stringify(record, null, 2)}\n`, {
        flush: true,
      });
      await rename(join(parent, `${key}.json.new`), join(parent, `${key}.json`));
      return record;
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
}

const pinnedSources = new Map<string, Promise<Source>>();

async function findSource(name: string, packages: Record<string, string> | undefined): Promise<Source> {
  if (packages) return await createSource(name, packages);
  const source = pinnedSources.get(name) ?? createSource(name, undefined);
  if (findPinnedHarness(name)) pinnedSources.set(name, source);
  return await source;
}

async function createSource(name: string, packages: Record<string, string> | undefined): Promise<Source> {
  const known = findPinnedHarness(name);
  if (packages) checkPackages(name, packages);
  if (!known && !packages)
    throw new Failure("harness_failed", `Outrider does not know which packages ${name} consists of.`);
  const platform = `linux-${process.arch}-${await libcOf()}`;
  // An operator's versions replace the pinned ones, but the operator need not repeat all packages.
  const wanted = { ...known?.packages, ...packages };
  const pinned: PinnedHarness = {
    packages: wanted,
    agent: known?.agent ?? Object.keys(wanted)[0] ?? "",
    ...(known?.version_field ? { version_field: known.version_field } : {}),
    programs: known?.programs ?? {},
  };
  const isPinned = known && JSON.stringify(wanted) === JSON.stringify(known.packages);
  const lockText = isPinned ? readPinnedLock(name) : undefined;
  const content = lockText ?? JSON.stringify(Object.entries(wanted).toSorted());
  const key = createHash("sha256")
    .update(JSON.stringify([FORMAT, platform, content]))
    .digest("hex")
    .slice(0, 32);
  return { name, pinned, lockText, key, platform };
}

async function readRecord(parent: string, key: string): Promise<HarnessRecord | undefined> {
  try {
    return JSON.parse(await readFile(join(parent, `${key}.json`), "utf8"));
  } catch {
    return undefined;
  }
}
