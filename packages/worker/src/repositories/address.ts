import { realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { setupFailed } from "./error.ts";

/** Where a repository is, taken apart by our own grammar: what git would make of anything else is not tried. */
export interface Address {
  kind: "https" | "http" | "ssh" | "file";
  /** What git is given, and what `origin` becomes. It holds no credentials. */
  url: string;
  /** With its port, where the address names one; empty for a path. */
  host: string;
}

export interface AddressRules {
  /** Folders below which repositories may be taken from this machine's disk. */
  allowedPaths: string[];
  /** Hosts, as in the address with their port, for which plain http is accepted. */
  insecureHosts: string[];
}

const hostName = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]+\\]";
const web = new RegExp(`^(https?)://((?:${hostName})(?::\\d{1,5})?)(/[^\\s?#]+)$`);
const secureShell = new RegExp(
  `^ssh://(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?((?:${hostName})(?::\\d{1,5})?)(/[^\\s]+)$`,
);
const shortSecureShell = new RegExp(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*@(${hostName}):([^\\s]+)$`);
/** As such, or encoded: a line break in an address could pass for another line of git's talk with its helpers. */
const control = /[\p{Cc}\\]|%(?:[01][0-9a-f]|7f)/iu;

export function parseAddress(url: string, rules: AddressRules): Address {
  if (url.startsWith("/") || url.startsWith("file:")) return pathAddress(url, rules.allowedPaths);
  if (/^https?:\/\/[^/]*@|^ssh:\/\/[^/@:]*:[^/]*@/.test(url)) {
    throw setupFailed(
      "The address of a repository holds credentials.",
      "Take them out of the address and store them as a secret.",
    );
  }
  const byWeb = control.test(url) ? null : web.exec(url);
  if (byWeb) {
    const [, kind = "", host = ""] = byWeb;
    if (kind === "http" && !rules.insecureHosts.includes(host)) {
      throw setupFailed(
        `The repository ${url} would be fetched over http, which anyone on the way can read and change.`,
        "Use its https address.",
      );
    }
    return { kind: kind as "https" | "http", url, host };
  }
  const byShell = control.test(url) ? null : (secureShell.exec(url) ?? shortSecureShell.exec(url));
  // A path that begins with a dash could be read as an option by the program at the other end.
  if (byShell && !/^\/?-/.test(byShell[2] ?? "")) return { kind: "ssh", url, host: byShell[1] ?? "" };
  throw setupFailed(
    `"${url.slice(0, 200).replaceAll(/\p{Cc}/gu, " ")}" is no address of a repository that Outrider fetches.`,
    "Use one like https://host/owner/name, ssh://git@host/owner/name or git@host:owner/name.",
  );
}

/** The whole path is resolved before it is compared, so that a link inside an allowed folder leads nowhere else. */
function pathAddress(url: string, allowedPaths: string[]): Address {
  const path = url.replace(/^file:\/\/(?=\/)/, "");
  const found = path.startsWith("/") && !control.test(path) ? realPath(path) : undefined;
  const allowed = allowedPaths.flatMap((each) => realPath(each) ?? []);
  if (found && allowed.some((folder) => found === folder || found.startsWith(folder.replace(/\/?$/, sep)))) {
    if (statSync(found).isDirectory()) return { kind: "file", url: `file://${found}`, host: "" };
  }
  // The same words whether it exists or not: nobody learns from them what is on this disk.
  throw setupFailed(
    `This worker may not read a repository at ${path.slice(0, 200).replaceAll(/\p{Cc}/gu, " ")}.`,
    "Ask the operator to allow a folder above it for repositories, or use an https or ssh address.",
  );
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
