import { realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { setupFailed } from "./repository-error.ts";

/** A repository URL, parsed by a strict grammar. URLs that do not match it are never passed to git. */
export interface Address {
  kind: "https" | "http" | "ssh" | "file";
  /** The URL that is passed to git and set as `origin`. It contains no credentials. */
  url: string;
  /** The host, including the port if the URL has one. Empty for a path. */
  host: string;
}

export interface AddressRules {
  /** Folders on this machine below which repositories may be read. */
  allowedPaths: string[];
  /** Hosts, including the port if the URL has one, for which plain http is allowed. */
  insecureHosts: string[];
}

const hostName = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]+\\]";
const httpUrl = new RegExp(`^(https?)://((?:${hostName})(?::\\d{1,5})?)(/[^\\s?#]+)$`);
const sshUrl = new RegExp(
  `^ssh://(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?((?:${hostName})(?::\\d{1,5})?)(/[^\\s]+)$`,
);
const scpLikeUrl = new RegExp(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*@(${hostName}):([^\\s]+)$`);
/** Literal or encoded control characters. A line break could inject a line into git's credential protocol. */
const controlCharacter = /[\p{Cc}\\]|%(?:[01][0-9a-f]|7f)/iu;

export function parseAddress(url: string, rules: AddressRules): Address {
  if (url.startsWith("/") || url.startsWith("file:")) return pathAddress(url, rules.allowedPaths);
  if (/^https?:\/\/[^/]*@|^ssh:\/\/[^/@:]*:[^/]*@/.test(url)) {
    throw setupFailed(
      "The repository URL contains credentials.",
      "Remove them from the URL and store them as a secret.",
    );
  }
  const http = controlCharacter.test(url) ? null : httpUrl.exec(url);
  if (http) {
    const [, kind = "", host = ""] = http;
    if (kind === "http" && !rules.insecureHosts.includes(host)) {
      throw setupFailed(`The repository ${url} uses http, which is not encrypted.`, "Use its https URL.");
    }
    return { kind: kind as "https" | "http", url, host };
  }
  const ssh = controlCharacter.test(url) ? null : (sshUrl.exec(url) ?? scpLikeUrl.exec(url));
  // The program on the server could interpret a path that starts with a dash as an option.
  if (ssh && !/^\/?-/.test(ssh[2] ?? "")) return { kind: "ssh", url, host: ssh[1] ?? "" };
  throw setupFailed(
    `"${url.slice(0, 200).replaceAll(/\p{Cc}/gu, " ")}" is not a supported repository URL.`,
    "Use a URL like https://host/owner/name, ssh://git@host/owner/name or git@host:owner/name.",
  );
}

/** Resolves symlinks before the comparison, so that a symlink in an allowed folder cannot lead elsewhere. */
function pathAddress(url: string, allowedPaths: string[]): Address {
  const path = url.replace(/^file:\/\/(?=\/)/, "");
  const found = path.startsWith("/") && !controlCharacter.test(path) ? realPath(path) : undefined;
  const allowed = allowedPaths.flatMap((allowedPath) => realPath(allowedPath) ?? []);
  if (found && allowed.some((folder) => found === folder || found.startsWith(folder.replace(/\/?$/, sep)))) {
    if (statSync(found).isDirectory()) return { kind: "file", url: `file://${found}`, host: "" };
  }
  // The message is the same whether the path exists or not, so that it reveals nothing about this disk.
  throw setupFailed(
    `This worker is not allowed to read a repository at ${path.slice(0, 200).replaceAll(/\p{Cc}/gu, " ")}.`,
    "Ask the operator to allow one of its parent folders for repositories, or use an https or ssh URL.",
  );
}

/** Resolves symlinks. Returns undefined if the path does not exist. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
