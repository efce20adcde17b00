import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { formatAuthority, normalizeHost, type Target } from "../host.ts";

/**
 * What a preset of `network.allow` stands for on this worker: the hosts that the worker's own tools are configured to
 * use, and the configuration that the same tools need in a sandbox. It contains no credentials.
 */
export interface ResolvedPreset {
  targets: Target[];
  /** Environment variables of commands. */
  environment: Record<string, string>;
  /** Read-only files, by their absolute path in the sandbox. */
  files: Record<string, string>;
  /** Files below the home, by their relative path. They contain `homeFileMark`, and replace only files that do too. */
  homeFiles: Record<string, string>;
  /** For sandboxes whose image is a release of the same Linux distribution as the worker's. */
  distribution?: { codename: string; environment: Record<string, string>; files: Record<string, string> };
  /** Sentences for the transcript. */
  notices: string[];
}

export interface PresetContext {
  /** The environment in which the worker's tools look for their configuration. */
  environment: NodeJS.ProcessEnv;
  /** The URL of the host for repositories that are specified as `owner/name`. */
  gitHost: string | undefined;
}

export type ResolvePreset = (context: PresetContext) => Promise<ResolvedPreset>;

export const homeFileMark = "Written by Outrider whenever a sandbox starts, unless you remove this line.";

export const emptyPreset: ResolvedPreset = {
  targets: [],
  environment: {},
  files: {},
  homeFiles: {},
  notices: [],
};

const runFile = promisify(execFile);
const toolMs = 30_000;
const maxOutputBytes = 4 * 2 ** 20;

/** Runs one of the worker's tools and returns its output. Returns undefined if it is not installed or fails. */
export async function runTool(
  { environment }: PresetContext,
  program: string,
  ...args: string[]
): Promise<string | undefined> {
  // The worker's own settings contain its key.
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !/^OUTRIDER_/i.test(name)));
  try {
    // Files of the current folder must not change the configuration.
    const options = { env, cwd: "/", timeout: toolMs, maxBuffer: maxOutputBytes };
    return (await runFile(program, args, options)).stdout;
  } catch {
    return undefined;
  }
}

/** The URL of a registry or mirror, without credentials. */
export interface CleanUrl {
  url: string;
  target: Target;
  hadCredentials: boolean;
}

/** Parses an http or https URL. Returns undefined for other text. */
export function cleanUrl(text: string): CleanUrl | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const host = normalizeHost(url.hostname.replace(/^\[|\]$/g, ""));
  if (host === undefined) return undefined;
  const hadCredentials = url.username !== "" || url.password !== "";
  const target = { host, port: Number(url.port || (url.protocol === "https:" ? 443 : 80)) };
  // Keeps the spelling of the URL where possible, because some tools compare it.
  const clean = hadCredentials ? text.replace(/^(https?:\/\/)[^/]*@/i, "$1") : text;
  return { url: clean, target, hadCredentials };
}

/** Says which hosts need credentials that sandboxes do not get. */
export function credentialNotices(preset: string, urls: CleanUrl[]): string[] {
  const hosts = new Set(urls.filter(({ hadCredentials }) => hadCredentials).map(({ target }) => target.host));
  return [...hosts].map(
    (host) =>
      `preset:${preset}: the worker's credentials for ${host} are not passed to the sandbox. Use a registry that needs none, or a secret of the environment.`,
  );
}

export function uniqueTargets(targets: Target[]): Target[] {
  return [...new Map(targets.map((target) => [formatAuthority(target), target])).values()];
}
