import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quoted } from "../quoted.ts";
import type { Address } from "./address.ts";
import { authenticationRequired } from "./error.ts";

/** The file descriptor at which git holds the private key. */
export const keyFd = 4;

export interface AccessOptions {
  address: Address;
  /** `user:token`, a token alone, or a private key. */
  credential?: string | undefined;
  /** `http://user:secret@host:port`. */
  proxyUrl?: string | undefined;
  /** Leads ssh through the proxy; finds its address in OUTRIDER_PROXY. %h and %p are host and port. */
  sshProxyCommand?: string | undefined;
  /** Host keys that were seen before; a new host is added. */
  seenHosts: string;
  /** The operator's own list instead, to which nothing is added. */
  knownHosts?: string | undefined;
}

/** How one git process gets to the repository. Secrets travel in its environment or an open file, never in arguments. */
export interface Access extends Disposable {
  env: Record<string, string>;
  settings: Record<string, string>;
  keyFile: number | undefined;
  /** What must not be in anything that git says. */
  secrets: string[];
}

const tokenHelper =
  '!f() { [ "$1" = get ] && printf "username=%s\\npassword=%s\\n" "$OUTRIDER_GIT_USER" "$OUTRIDER_GIT_TOKEN"; }; f';

export function openAccess(options: AccessOptions): Access {
  const { address, proxyUrl } = options;
  const credential = options.credential?.trim();
  const proxySecret = proxyUrl ? decodeURIComponent(new URL(proxyUrl).password) : "";
  const access: Access = {
    env: { GIT_ALLOW_PROTOCOL: address.kind },
    // An empty helper makes git forget those that were named before.
    settings: { "credential.helper": "", ...(proxyUrl ? proxySettings(proxyUrl) : {}) },
    keyFile: undefined,
    secrets: [proxySecret, credential ?? ""].filter((secret) => secret !== ""),
    [Symbol.dispose]() {
      if (this.keyFile !== undefined) closeSync(this.keyFile);
    },
  };
  if (address.kind === "ssh") addKey(access, { ...options, credential });
  else if (credential && address.kind !== "file") addToken(access, address, credential);
  return access;
}

/** Left to itself, git first asks the proxy without its secret. */
function proxySettings(proxyUrl: string): Record<string, string> {
  return { "http.proxy": proxyUrl, "http.proxyAuthMethod": "basic" };
}

function addToken(access: Access, { kind, host }: Address, credential: string): void {
  if (isPrivateKey(credential) || /\p{Cc}/u.test(credential)) {
    throw authenticationRequired(
      `The credential for ${host} is not a token, which an ${kind} address needs.`,
      "Store `user:token` or a token alone as the secret, or use the repository's ssh address.",
    );
  }
  const colon = credential.indexOf(":");
  const token = credential.slice(colon + 1);
  // GitHub, GitLab and Gitea all take a token under this name.
  access.env.OUTRIDER_GIT_USER = colon > 0 ? credential.slice(0, colon) : "x-access-token";
  access.env.OUTRIDER_GIT_TOKEN = token;
  // For this host alone: where a server sends git on to another one, the token stays behind.
  access.settings[`credential.${kind}://${host}.helper`] = tokenHelper;
  access.secrets.push(token);
}

function addKey(access: Access, options: AccessOptions): void {
  const { credential, address } = options;
  if (credential) {
    if (!isPrivateKey(credential)) {
      throw authenticationRequired(
        `The credential for ${address.host} is not a private key, which an ssh address needs.`,
        "Store a private key without a passphrase as the secret, or use the repository's https address.",
      );
    }
    access.keyFile = hiddenFile(`${credential.replaceAll("\r", "")}\n`);
    access.secrets.push(...credential.split(/\s+/).filter((line) => line.length >= 16));
  }
  access.env.GIT_SSH_VARIANT = "ssh";
  access.env.GIT_SSH_COMMAND = sshCommand(options);
  if (options.proxyUrl) access.env.OUTRIDER_PROXY = options.proxyUrl;
}

function sshCommand({ credential, seenHosts, knownHosts, sshProxyCommand }: AccessOptions): string {
  const settings = [
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    `StrictHostKeyChecking=${knownHosts ? "yes" : "accept-new"}`,
    `UserKnownHostsFile="${knownHosts ?? seenHosts}"`,
    "GlobalKnownHostsFile=/dev/null",
    "UpdateHostKeys=no",
    "ClearAllForwardings=yes",
    "ConnectTimeout=30",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    ...(sshProxyCommand ? [`ProxyCommand=${sshProxyCommand}`] : []),
    ...(credential ? [] : ["IdentityFile=none"]),
  ];
  const words = ["ssh", "-F", "/dev/null", ...settings.flatMap((setting) => ["-o", setting])];
  // ssh closes what it inherits, so it reads the key through git, which is the parent of the shell around it.
  return `${words.map(quoted).join(" ")}${credential ? ` -i /proc/$PPID/fd/${keyFd}` : ""}`;
}

/** The token of `user:token` is a secret by itself. */
export function secretsOfCredential(credential: string): string[] {
  const token = isPrivateKey(credential) ? "" : credential.slice(credential.indexOf(":") + 1).trim();
  return [credential, ...(token.length >= 8 ? [token] : [])];
}

function isPrivateKey(credential: string): boolean {
  return /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(credential);
}

/** A file without a name, in memory where the system has such a place: whatever kills us, nothing of it is left. */
function hiddenFile(content: string): number {
  const path = join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), `outrider-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  rmSync(path);
  writeSync(file, content);
  return file;
}
