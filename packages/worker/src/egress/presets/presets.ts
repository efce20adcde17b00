/**
 * Presets of `network.allow`, such as `preset:npm`. Each stands for the hosts that a tool on this worker is configured to
 * use, so that environments name no registry and internal mirrors work. The addresses come from the tools' configuration
 * and, where a tool is not configured, from the tool itself.
 *
 * The operator configures the worker's tools, so sandboxes may reach these hosts and ports on private addresses too.
 */
import type { NetworkPreset } from "@outrider/contract/environment";
import type { Exceptions } from "../exceptions.ts";
import { formatAuthority, type Target } from "../host.ts";
import { resolveCrates } from "./crates.ts";
import { resolveDebian } from "./debian.ts";
import { resolveGit } from "./git.ts";
import { resolveGo } from "./go.ts";
import { resolveMaven } from "./maven.ts";
import { resolveNpm } from "./npm.ts";
import { emptyPreset, type ResolvedPreset, type ResolvePreset, uniqueTargets } from "./preset.ts";
import { resolvePypi } from "./pypi.ts";

const resolvers: Record<NetworkPreset, ResolvePreset> = {
  npm: resolveNpm,
  pypi: resolvePypi,
  go: resolveGo,
  crates: resolveCrates,
  maven: resolveMaven,
  debian: resolveDebian,
  git: resolveGit,
};

export const presetNames = Object.keys(resolvers) as NetworkPreset[];

const prefix = "preset:";
/** A changed configuration of a tool takes effect after this time. */
const cacheMs = 10 * 60_000;

/** An allowlist whose presets have been replaced by hosts. */
export interface ResolvedAllowlist extends ResolvedPreset {
  /** The entries without presets, and the hosts of the presets. */
  allow: string[];
  /** The hosts of each preset, for the receipt. */
  presets: { preset: string; hosts: string[] }[];
  exceptions: Exceptions;
}

export class Presets {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #cache = new Map<string, { at: number; resolved: Promise<ResolvedPreset> }>();

  /** The worker's tools find their configuration through these variables, such as PATH and HOME. */
  constructor({ environment }: { environment: NodeJS.ProcessEnv }) {
    this.#environment = environment;
  }

  /** Resolves one preset. Never rejects. */
  resolve(name: NetworkPreset, gitHost: string | undefined): Promise<ResolvedPreset> {
    const key = JSON.stringify([name, name === "git" ? gitHost : ""]);
    const cached = this.#cache.get(key);
    if (cached && performance.now() - cached.at < cacheMs) return cached.resolved;
    const resolved = Promise.resolve(resolvers[name]?.({ environment: this.#environment, gitHost }))
      .then((preset) => preset ?? unknown(name))
      .catch(() => ({
        ...emptyPreset,
        notices: [`preset:${name} allows nothing, because the worker cannot read the tool's configuration.`],
      }));
    this.#cache.set(key, { at: performance.now(), resolved });
    return resolved;
  }

  /** Replaces the presets of an allowlist. */
  async resolveAllowlist(
    entries: string[],
    { gitHost, exceptions }: { gitHost: string | undefined; exceptions: Exceptions },
  ): Promise<ResolvedAllowlist> {
    const names = [...new Set(entries.filter((entry) => entry.startsWith(prefix)))].map(
      (entry) => entry.slice(prefix.length) as NetworkPreset,
    );
    const all = await Promise.all(names.map((name) => this.resolve(name, gitHost)));
    const targets = uniqueTargets(all.flatMap((preset) => preset.targets));
    const [distribution] = all.flatMap((preset) => preset.distribution ?? []);
    return {
      targets,
      environment: Object.assign({}, ...all.map((preset) => preset.environment)),
      files: Object.assign({}, ...all.map((preset) => preset.files)),
      homeFiles: Object.assign({}, ...all.map((preset) => preset.homeFiles)),
      ...(distribution ? { distribution } : {}),
      notices: all.flatMap((preset) => preset.notices),
      allow: [...entries.filter((entry) => !entry.startsWith(prefix)), ...targets.map(formatAuthority)],
      presets: names.map((name, index) => ({
        preset: `${prefix}${name}`,
        hosts: (all[index]?.targets ?? []).map(formatAuthority),
      })),
      exceptions: withTargets(exceptions, targets),
    };
  }
}

function unknown(name: string): ResolvedPreset {
  return {
    ...emptyPreset,
    notices: [`preset:${name} allows nothing, because this worker does not know it.`],
  };
}

/** Adds hosts with their ports to the operator's exceptions. */
function withTargets(exceptions: Exceptions, targets: Target[]): Exceptions {
  if (targets.length === 0) return exceptions;
  const includes = ({ host, port }: Target) =>
    targets.some((target) => target.host === host && target.port === port);
  return {
    covers: (target) => includes(target) || exceptions.covers(target),
    names: (target) => includes(target) || exceptions.names(target),
  };
}
