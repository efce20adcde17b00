import type { RepositoryName } from "../../forges/forge-client.ts";

export interface ParsedRepositoryUrl {
  /** With the port, if the URL is https and has one. */
  host: string;
  /** The path without `.git` and slashes around it. */
  path: string;
  isHttps: boolean;
}

/** Parses the URL of a git repository in one of the forms that environments accept. */
export function parseRepositoryUrl(text: string): ParsedRepositoryUrl | undefined {
  const scp = /^[A-Za-z0-9_.-]+@([A-Za-z0-9.-]+):(?!\/\/)(.+)$/.exec(text);
  if (scp)
    return { host: (scp[1] as string).toLowerCase(), path: cleanPath(scp[2] as string), isHttps: false };
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  // The port of ssh is not the port of the forge.
  if (url.protocol === "ssh:")
    return { host: url.hostname.toLowerCase(), path: cleanPath(url.pathname), isHttps: false };
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  return { host: url.host.toLowerCase(), path: cleanPath(url.pathname), isHttps: true };
}

function cleanPath(path: string): string {
  return path
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/, "")
    .replace(/\/+$/, "");
}

/** Returns the repository of a path below the address of a forge, or undefined if it is not below it. */
export function repositoryOf(path: string, forgeUrl: string): RepositoryName | undefined {
  const prefix = cleanPath(new URL(forgeUrl).pathname);
  const rest = prefix === "" ? path : path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1) : "";
  const parts = rest.split("/");
  const isValid =
    parts.length >= 2 && parts.every((part) => /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$/.test(part));
  if (!isValid) return undefined;
  return { owner: parts.slice(0, -1).join("/"), name: parts.at(-1) as string };
}
