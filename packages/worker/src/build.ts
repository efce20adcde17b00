import { createHash } from "node:crypto";
import { Failure } from "@outrider/agent/failure";
import type { CheckedOut } from "@outrider/contract/run";
import type { FoundSkill } from "@outrider/contract/skill";
import type { BuildOutcome, EnvironmentWork } from "@outrider/contract/worker";
import type { Bases } from "./bases.ts";
import { type BuildLease, BuildLog } from "./build-log.ts";
import type { Networks } from "./networks.ts";
import { quoted } from "./quoted.ts";
import { cleanTexts, Redactor } from "./redact.ts";
import { secretsOfCredential } from "./repositories/access.ts";
import { checkoutScript } from "./repositories/checkout.ts";
import { RepositoryError } from "./repositories/error.ts";
import type { Repositories, Resolved } from "./repositories/repositories.ts";
import { LimitNotEnforceableError } from "./sandboxes/limits.ts";
import type { Sandbox, SandboxProvider } from "./sandboxes/sandbox.ts";
import type { Server } from "./server.ts";
import { collectSkills } from "./skills/collect.ts";

/** Changes with whatever else would make the same commits and commands give other files. */
const FORMAT = "outrider-local-1";
const COMMAND_MS = 60 * 60_000;
const LAST_LINES = 20;
const LAST_CHARACTERS = 4_000;

export interface ResolvedRepository extends CheckedOut {
  mirror: string;
}

/** The commits that an environment's repositories are at now. */
export async function resolveAll(
  repositories: Repositories,
  { repos, credentials }: EnvironmentWork,
  { signal, notice }: { signal: AbortSignal; notice(message: string): void },
): Promise<ResolvedRepository[]> {
  return Promise.all(
    repos.map(async ({ url, ref, path, secret }) => {
      const credential = secret === undefined ? undefined : credentials[secret];
      const wanted = {
        url,
        ...(ref ? { ref } : {}),
        // All environments may name the same secret, and who stores it may renew it: its name tells whose mirror it is.
        ...(credential ? { credential, sharedBy: secret as string } : {}),
      };
      const found: Resolved = await repositories.resolve(wanted, { signal }).catch((error) => {
        throw error instanceof RepositoryError ? new Failure(error.code, error.message) : error;
      });
      for (const message of found.notices) notice(`${url}: ${message}`);
      return {
        url,
        path,
        commit: found.commit,
        mirror: found.mirror,
        ...(found.ref ? { ref: found.ref } : {}),
      };
    }),
  );
}

/** The hash of all that goes into a build. The same key, the same files. */
export function keyOf({ setup_commands }: EnvironmentWork, repositories: CheckedOut[]): string {
  const commits = repositories.map(({ url, path, commit, ref }) => ({ url, path, commit, ref }));
  return createHash("sha256")
    .update(JSON.stringify([FORMAT, commits, setup_commands]))
    .digest("hex");
}

export const withoutMirrors = (repositories: ResolvedRepository[]): CheckedOut[] =>
  repositories.map(({ mirror, ...rest }) => rest);

export interface BuildContext {
  server: Server;
  repositories: Repositories;
  provider: SandboxProvider;
  bases: Bases;
  networks: Networks;
  /** What mirrors of repositories may take of the disk. */
  maxMirrorBytes: number;
}

interface BuildOptions {
  build_id: string;
  environment: EnvironmentWork;
  repositories: ResolvedRepository[];
  log: BuildLog;
  redactor: Redactor;
  deadline(): bigint;
  /** The sandbox lives as long as the lease is extended. */
  opened(sandbox: Sandbox): void;
  /** What a run that waits for it is told. */
  step(name: string, state: "started" | "finished" | "failed"): void;
}

/** Checks repositories out and runs setup commands, in a sandbox without secrets or variables, and keeps the files. */
async function makeBuild(
  { provider, bases, networks }: BuildContext,
  options: BuildOptions,
): Promise<BuildOutcome> {
  const { build_id, environment, repositories, log } = options;
  const { network, resources, setup_commands } = environment;
  const way = networks.open(network, ({ message }) => log.write({ type: "notice", data: { message } }));
  let sandbox: Sandbox | undefined;
  try {
    sandbox = await provider.open({
      id: `build-${build_id}`,
      deadline: options.deadline(),
      label: { build_id },
      mounts: repositories.map(({ mirror }, index) => ({ source: mirror, target: mirrorInside(index) })),
      ...(resources ? { limits: resources } : {}),
      ...way.option,
    });
    options.opened(sandbox);
    const runner = new StepRunner(sandbox, options);
    for (const [index, { url, path, commit, ref }] of repositories.entries()) {
      const place = { mirrorInside: mirrorInside(index), commit, path, url, ...(ref ? { ref } : {}) };
      await runner.run(`check out ${url} at ${commit.slice(0, 12)}`, checkoutScript(place));
    }
    const [only] = repositories.length === 1 ? repositories : [];
    for (const command of setup_commands) {
      await runner.run(
        command,
        only ? `cd ${quoted(`/workspace/${only.path}`)} && { ${command}\n}` : command,
      );
    }
    const skills = await skillsIn(repositories, log);
    log.write({ type: "step", data: { name: "store", state: "started" } });
    const stored = await bases.store(sandbox, build_id, log.signal);
    sandbox = undefined;
    log.write({ type: "step", data: { name: "store", state: "finished" } });
    return {
      type: "ready",
      key: keyOf(environment, repositories),
      ...stored,
      repositories: withoutMirrors(repositories),
      skills,
    };
  } catch (error) {
    if (log.signal.aborted) return { type: "abandoned" };
    return outcomeOf(error);
  } finally {
    await sandbox?.close().catch(() => {});
    await way.close();
  }
}

/** A list for people to choose from: that it cannot be made is no reason to fail. */
async function skillsIn(repositories: ResolvedRepository[], log: BuildLog): Promise<FoundSkill[]> {
  return collectSkills(repositories, log.signal).catch((error: Error) => {
    log.signal.throwIfAborted();
    log.write({ type: "notice", data: { message: `Skills cannot be listed: ${error.message}` } });
    return [];
  });
}

export const mirrorInside = (index: number) => `/run/outrider/mirrors/${index}.git`;

function outcomeOf(error: unknown): BuildOutcome {
  if (error instanceof Failure) return { type: "failed", error_code: error.code, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const error_code = error instanceof LimitNotEnforceableError ? "environment_setup_failed" : "sandbox_lost";
  return { type: "failed", error_code, message };
}

class StepRunner {
  private readonly sandbox: Sandbox;
  private readonly options: BuildOptions;

  constructor(sandbox: Sandbox, options: BuildOptions) {
    this.sandbox = sandbox;
    this.options = options;
  }

  async run(name: string, command: string): Promise<void> {
    const { log, step } = this.options;
    log.write({ type: "step", data: { name, state: "started" } });
    step(name, "started");
    let tail = "";
    const { redactor } = this.options;
    const clean = { stdout: cleanTexts(redactor), stderr: cleanTexts(redactor) };
    const pass = (stream: "stdout" | "stderr", text: string) => {
      if (text === "") return;
      tail = (tail + text).slice(-LAST_CHARACTERS);
      log.write({ type: "output", data: { stream, text } });
    };
    const { exitCode, timedOut, durationMs } = await this.sandbox.exec(command, {
      signal: log.signal,
      timeoutMs: COMMAND_MS,
      onOutput: ({ stream, data }) => pass(stream, clean[stream].push(data)),
    });
    for (const stream of ["stdout", "stderr"] as const) pass(stream, clean[stream].end());
    log.signal.throwIfAborted();
    const failed = exitCode !== 0;
    const ending = { ...(exitCode === null ? {} : { exit_code: exitCode }), duration_ms: durationMs };
    log.write({ type: "step", data: { name, state: failed ? "failed" : "finished", ...ending } });
    step(name, failed ? "failed" : "finished");
    if (!failed) return;
    const how = timedOut ? "took longer than an hour" : `ended with exit code ${exitCode ?? "none (killed)"}`;
    const lines = tail.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
    throw new Failure(
      "environment_setup_failed",
      `\`${name}\` ${how}.${lines ? ` Its last lines:\n${lines}` : ""}`,
    );
  }
}

interface RunBuildOptions {
  lease: BuildLease;
  environment: EnvironmentWork;
  /** Where they are resolved already. */
  repositories?: ResolvedRepository[];
  signal: AbortSignal;
  step?: BuildOptions["step"];
}

/** Makes a build that is ours to make, and tells the server how it ended. */
export async function runBuild(context: BuildContext, options: RunBuildOptions): Promise<BuildOutcome> {
  const { lease, environment, signal, step = () => {} } = options;
  const { server, repositories: all } = context;
  let sandbox: Sandbox | undefined;
  let deadline = process.hrtime.bigint() + BigInt(lease.lease_ms) * 1_000_000n;
  const redactor = new Redactor(Object.values(environment.credentials).flatMap(secretsOfCredential));
  const log = new BuildLog({
    server,
    lease,
    redactor,
    signal,
    extended(until) {
      deadline = until;
      sandbox?.extendDeadline(until);
    },
  });
  const notice = (message: string) => log.write({ type: "notice", data: { message } });
  try {
    const repositories =
      options.repositories ?? (await resolveAll(all, environment, { signal: log.signal, notice }));
    const outcome = await makeBuild(context, {
      build_id: lease.build_id,
      environment,
      repositories,
      log,
      redactor,
      deadline: () => deadline,
      opened: (one) => {
        sandbox = one;
      },
      step,
    });
    return await told(log, outcome);
  } catch (error) {
    return await told(log, log.signal.aborted ? { type: "abandoned" } : outcomeOf(error));
  } finally {
    log.stop();
    void all.prune({ keep: [], maxBytes: context.maxMirrorBytes }).catch(() => {});
  }
}

async function told(log: BuildLog, outcome: BuildOutcome): Promise<BuildOutcome> {
  await log.finish(outcome);
  return outcome;
}
