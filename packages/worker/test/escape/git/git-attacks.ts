import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type FetchedRepository, mirrorRequests } from "../../../src/builds/repository-contents.ts";
import { Redactor } from "../../../src/redaction/redact.ts";
import { checkoutScript } from "../../../src/repositories/checkout.ts";
import { openRepositories } from "../../../src/repositories/repositories.ts";
import type { Repositories } from "../../../src/repositories/repository.ts";
import { RepositoryError } from "../../../src/repositories/repository-error.ts";
import type { Limits } from "../../../src/sandboxes/limits.ts";
import { openLocalProvider } from "../../../src/sandboxes/local/local-provider.ts";
import type { Sandbox, SandboxProvider } from "../../../src/sandboxes/sandbox.ts";
import { streamDiff } from "../../../src/workspace/diff.ts";
import { updateRepository } from "../../../src/workspace/open-sandbox.ts";
import {
  type HttpServer,
  makeFolder,
  Origin,
  type SshServer,
  serveHttp,
  serveSsh,
} from "../../repositories/git-server.ts";
import { inMs, makeRoot, processesWith, run, silent } from "../../sandboxes/sandbox-support.ts";
import { type HostileServer, serveHostile } from "./hostile-server.ts";
import { HOST_FOLDER } from "./payload.ts";

/**
 * Runs git attacks against everything that the worker does with a repository, in the order of a real run. Each
 * operation must end, within a limit, with a result or an error for users. It must not touch the host.
 */
export const operations = ["clone", "build", "update", "diff", "snapshot"] as const;
export type Operation = (typeof operations)[number];

/** Above the time that any operation takes on a busy machine, and below the timeout of a test. */
const boundMs = 180_000;
/** The time limit for operations that never end. */
const hangMs = 1_000;

export interface Target {
  url: string;
  ref?: string;
  credential?: string;
  /** Moves the branch, before the update. */
  advance?(): void;
}

export interface Attack {
  name: string;
  /** Prepares a remote repository. Without it, the attack starts from a harmless one. */
  remote?(fixture: AttackFixture, name: string): Target | Promise<Target>;
  /**
   * A bash script that the agent runs in its checkout, before the build is stored and again before the update.
   * HOST_FOLDER (payload.ts) is replaced by the path of a folder on the host.
   */
  inside?: string;
  /** The outcome of an operation: its error message, or "done". Other operations may have any outcome. */
  expected?: Partial<Record<Operation, RegExp>>;
  /** Whether to skip the checkout, because it is slow and only fetching is under attack. */
  fetchOnly?: boolean;
  /** Whether git waits forever inside the sandbox, so that only the time limit ends it. */
  hangs?: boolean;
  /** A file in the workspace that the payload creates. It proves that the attack works inside the sandbox. */
  proof?: string;
}

export interface AttackFixture {
  folder: string;
  /** A folder that everyone can write. Payloads create files in it. It does not exist inside a sandbox. */
  hostFolder: string;
  http: HttpServer;
  ssh: SshServer;
  hostile: HostileServer;
  /** Creates a repository with one commit. */
  origin(name: string, files?: Record<string, string>): Origin;
  run(attack: Attack): Promise<Partial<Record<Operation, string>>>;
  /** Fails if the worker cannot fetch a harmless repository. */
  expectHealthy(): Promise<void>;
  stop(): Promise<void>;
}

interface AttackLimits {
  listMs: number;
  fetchMs: number;
  maxRefs: number;
}

export async function openAttackFixture(limits: Partial<AttackLimits> = {}): Promise<AttackFixture> {
  const work = makeFolder();
  chmodSync(work.folder, 0o755);
  const { root, remove } = makeRoot();
  const [hostFolder, repositoriesFolder] = [join(work.folder, "payloads"), join(work.folder, "served")];
  for (const folder of [hostFolder, repositoriesFolder, join(work.folder, "ssh")]) mkdirSync(folder);
  chmodSync(hostFolder, 0o777);
  const provider = await openLocalProvider({ root, log: silent });
  const [http, ssh, hostile] = await Promise.all([
    serveHttp(repositoriesFolder),
    serveSsh(join(work.folder, "ssh")),
    serveHostile(),
  ]);
  const repositories = openRepositories({
    folder: join(root, "..", "repositories"),
    allowedPaths: [repositoriesFolder],
    insecureHosts: [http.host, hostile.host],
    limits: { listMs: 15_000, fetchMs: 20_000, maxRefs: 500, maxMemoryBytes: 256 * 2 ** 20, ...limits },
    log: silent,
  });
  const origin = (name: string, files: Record<string, string> = {}) => {
    const made = new Origin(repositoriesFolder, name);
    made.push("main", { "README.md": "hello\n", ...files });
    return made;
  };
  const canary = join(work.folder, "canary");
  writeFileSync(canary, "unchanged");
  chmodSync(canary, 0o666);
  const healthyOrigin = origin("healthy");
  const healthy: Target = {
    url: `http://${http.host}/healthy.git`,
    advance: () => void healthyOrigin.push("main", { "moved.txt": randomUUID() }),
  };

  const fixture: AttackFixture = {
    ...{ folder: repositoriesFolder, hostFolder, http, ssh, hostile, origin },
    async run(attack) {
      const id = randomUUID();
      const target = (await attack.remote?.(fixture, `attack-${id}`)) ?? healthy;
      for (const name of readdirSync(hostFolder))
        throw new Error(`A payload of an earlier attack created ${name} on the host.`);
      const outcomes = await new AttackExecution({
        id,
        attack,
        target,
        hostFolder,
        provider,
        repositories,
      }).run(() => {
        expect(readdirSync(hostFolder), "files that the payload created on the host").toEqual([]);
        expect(readFileSync(canary, "utf8")).toBe("unchanged");
      });
      expect(processesWith(join(root, "..", "repositories")), "git processes that are left").toEqual([]);
      return outcomes;
    },
    async expectHealthy() {
      const { commit } = await resolve(repositories, healthy);
      expect(commit).toMatch(/^[0-9a-f]{40}$/);
    },
    async stop() {
      await Promise.all([http.stop(), ssh.stop(), hostile.stop()]);
      await provider.stop();
      await remove();
      work.remove();
    },
  };
  return fixture;
}

async function resolve(
  repositories: Repositories,
  { url, ref, credential }: Target,
): Promise<FetchedRepository> {
  const repository = { url, ...(ref ? { ref } : {}), ...(credential ? { credential } : {}) };
  const signal = AbortSignal.timeout(boundMs);
  try {
    const resolved = await repositories.resolve(repository, { signal });
    const contents = await repositories.fetchContents(repository, resolved, { lenders: [], signal });
    return { url: "https://git.example.com/x", path: "repository", ...resolved, ...contents };
  } catch (error) {
    if (error instanceof RepositoryError) throw error;
    throw new UnexpectedError((error as Error).message, { cause: error });
  }
}

interface AttackExecutionOptions {
  id: string;
  attack: Attack;
  target: Target;
  hostFolder: string;
  provider: SandboxProvider;
  repositories: Repositories;
}

/** One attack: the operations of a run, one after the other. */
class AttackExecution {
  readonly #options: AttackExecutionOptions;
  readonly #outcomes: Partial<Record<Operation, string>> = {};

  constructor(options: AttackExecutionOptions) {
    this.#options = options;
  }

  async run(check: () => void): Promise<Partial<Record<Operation, string>>> {
    const { id, provider, target, attack } = this.#options;
    const attempt = async (operation: Operation, work: () => Promise<unknown>) => {
      this.#outcomes[operation] = await work().then(() => "done", messageOf);
      check();
      return this.#outcomes[operation] === "done";
    };
    let resolved: FetchedRepository | undefined;
    let hasBase = false;
    const cloned = await attempt("clone", async () => {
      const found = await resolve(this.#options.repositories, target);
      if (attack.fetchOnly) return;
      resolved = found;
      const sandbox = await this.#open("clone");
      try {
        await this.#clone(sandbox, resolved);
      } finally {
        await this.#runInside(sandbox);
        hasBase = await attempt("build", () => provider.saveBase(sandbox, `base-${id}`));
        await sandbox.close();
      }
    });
    if (!resolved || !hasBase) {
      // The second attempt finds the remains of the first one.
      await attempt("update", () => resolve(this.#options.repositories, target));
      return this.#outcomes;
    }
    target.advance?.();
    const first = resolved;
    let moved = first;
    const fetched = await attempt("update", async () => {
      moved = await resolve(this.#options.repositories, target);
    });
    const sandbox = await this.#open("run", `base-${id}`);
    try {
      // The checkout is already changed, so that the script may fail.
      await this.#runInside(sandbox).catch(() => {});
      if (cloned && fetched) await attempt("update", () => this.#update(sandbox, moved));
      await attempt("diff", () => drain(this.#diff(sandbox, first.commit)));
      await attempt("snapshot", () => drain(sandbox.snapshot()));
      if (attack.proof) {
        const { stdout } = await run(sandbox, `ls /workspace`);
        expect(stdout, "the payload runs inside").toContain(attack.proof);
      }
    } finally {
      await sandbox.close();
      await provider.removeBase(`base-${id}`);
    }
    return this.#outcomes;
  }

  async #runInside(sandbox: Sandbox): Promise<void> {
    const { attack, hostFolder } = this.#options;
    if (!attack.inside) return;
    const script = attack.inside.replaceAll(HOST_FOLDER, hostFolder);
    const { exitCode, stderr } = await run(sandbox, script);
    if (exitCode !== 0) throw new UnexpectedError(`The attack failed with exit code ${exitCode}: ${stderr}`);
  }

  #open(purpose: string, base?: string): Promise<Sandbox> {
    return this.#options.provider.open({
      id: `${purpose}-${this.#options.id}`,
      deadline: inMs(2 * boundMs),
      label: {},
      limits: enforceableLimits(this.#options.provider),
      ...(base ? { base } : {}),
    });
  }

  async #clone(sandbox: Sandbox, repository: FetchedRepository): Promise<void> {
    const signal = AbortSignal.timeout(2 * boundMs);
    const stdin = this.#options.repositories.streamMirrors(mirrorRequests(repository), { signal });
    const { exitCode, stderr, timedOut } = await run(sandbox, checkoutScript(repository), {
      ...{ stdin, withWorkerPrograms: true, timeoutMs: boundMs },
    });
    if (timedOut) throw new UnexpectedError("The script did not end.");
    if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
  }

  async #update(sandbox: Sandbox, repository: FetchedRepository): Promise<void> {
    const timeoutMs = this.#options.attack.hangs ? hangMs : boundMs;
    const signal = AbortSignal.timeout(3 * boundMs);
    const { repositories } = this.#options;
    const options = { repositories, redactor: new Redactor([]), signal, timeoutMs };
    await updateRepository(sandbox, repository, options).catch((error: Error) => {
      const isHanging = error.message.endsWith("timed out") && timeoutMs === boundMs;
      throw isHanging ? new UnexpectedError("The script did not end.") : error;
    });
  }

  #diff(sandbox: Sandbox, commit: string) {
    const repositories = [{ url: "https://git.example.com/x", path: "repository", commit }];
    const signal = AbortSignal.timeout(2 * boundMs);
    const timeoutMs = this.#options.attack.hangs ? hangMs : boundMs;
    return streamDiff(sandbox, { repositories, redactor: new Redactor([]), signal, timeoutMs });
  }
}

/** An ordinary user's worker cannot enforce all limits. */
function enforceableLimits(provider: SandboxProvider): Limits {
  const { disk, memory, pids } = provider.capabilities();
  return {
    ...(disk.enforced ? { disk_mb: 256 } : {}),
    ...(memory.enforced ? { memory_mb: 512 } : {}),
    ...(pids.enforced ? { pids: 256 } : {}),
  };
}

/** Rejects if the operation did not end by itself or failed with an error that is not for users. */
function messageOf(error: Error): string {
  const unexpected = ["UnexpectedError", "TimeoutError", "AbortError", "AssertionError"];
  if (unexpected.includes(error.name)) throw error;
  return error.message;
}

class UnexpectedError extends Error {
  override name = "UnexpectedError";
}

async function drain(stream: AsyncIterable<Buffer>): Promise<void> {
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  expect(bytes).toBeLessThan(2 ** 30);
}
