import { realpathSync } from "node:fs";

/**
 * Returns a text that is the same for all URLs of a repository: with https, ssh or a path, with or without `.git`, user and
 * port. A server can use different ports for https and ssh.
 */
export function normalizeRemoteUrl(url: string): string {
  const path = /^file:\/\/(\/.*)$/.exec(url)?.[1] ?? (/^\.{0,2}\//.test(url) ? url : undefined);
  if (path !== undefined) return `file:${stripSuffix(realPath(decode(path)))}`;
  const [, host = "", rest = ""] =
    /^(?:https?|ssh|git):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)(?::\d*)?\/(.*)$/i.exec(url) ??
    /^(?:[^/@]*@)?([^/:]+):(.*)$/.exec(url) ??
    [];
  return `${host}/${stripSuffix(decode(rest)).replace(/^\/+/, "")}`.toLowerCase();
}

function stripSuffix(path: string): string {
  return path.replace(/\/+$/, "").replace(/\.git$/i, "");
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
