import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quote } from "../quote.ts";
import type { Address } from "./address.ts";
import { authenticationRequired } from "./repository-error.ts";

/** The private key's file descriptor in the git process. */
export const keyFd = 4;

export interface AccessOptions {
  address: Address;
  /** `user:token`, a token, or a private key. */
  credential?: string | undefined;
  /** `http://user:secret@host:port`. */
  proxyUrl?: string | undefined;
  /**
   * ssh's ProxyCommand, which reads the proxy's URL from OUTRIDER_PROXY. ssh replaces %h and %p with the host and port.
   */
  sshProxyCommand?: string | undefined;
  /** A PEM file with the authorities that git trusts. Default: those of this machine. */
  caFile?: string | undefined;
  /** The known_hosts file to which new hosts are added. */
  seenHosts: string;
  /** The operator's known_hosts file. If set, it is used instead and nothing is added to it. */
  knownHosts?: string | undefined;
}

/**
 * Describes how one git process accesses a repository. Secrets are passed through its environment or an open file,
 * never as arguments.
 */
export interface Access extends Disposable {
  env: Record<string, string>;
  settings: Record<string, string>;
  keyFile: number | undefined;
  /** Values to remove from git's output. */
  secrets: string[];
}

const tokenHelper =
  '!f() { [ "$1" = get ] && printf "username=%s\\npassword=%s\\n" "$OUTRIDER_GIT_USER" "$OUTRIDER_GIT_TOKEN"; }; f';

export function openAccess(options: AccessOptions): Access {
  const { address, proxyUrl, caFile } = options;
  const credential = options.credential?.trim();
  const proxySecret = proxyUrl ? decodeURIComponent(new URL(proxyUrl).password) : "";
  const access: Access = {
    env: { GIT_ALLOW_PROTOCOL: address.kind },
    // An empty value clears git's list of credential helpers.
    settings: {
      "credential.helper": "",
      ...(proxyUrl ? proxySettings(proxyUrl) : {}),
      ...(caFile ? { "http.sslCAInfo": caFile } : {}),
    },
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

/** Sets the auth method, because git would otherwise send its first request without the credential. */
function proxySettings(proxyUrl: string): Record<string, string> {
  return { "http.proxy": proxyUrl, "http.proxyAuthMethod": "basic" };
}

function addToken(access: Access, { kind, host }: Address, credential: string): void {
  if (isPrivateKey(credential) || /\p{Cc}/u.test(credential)) {
    throw authenticationRequired(
      `The credential for ${host} is not a token. An ${kind} URL requires a token.`,
      "Store `user:token` or a token as the secret, or use the repository's ssh URL.",
    );
  }
  const colon = credential.indexOf(":");
  const token = credential.slice(colon + 1);
  // GitHub, GitLab and Gitea accept a token with this user name.
  access.env.OUTRIDER_GIT_USER = colon > 0 ? credential.slice(0, colon) : "x-access-token";
  access.env.OUTRIDER_GIT_TOKEN = token;
  // The helper is set for this host only, so that the token is not sent if the server redirects git to another host.
  access.settings[`credential.${kind}://${host}.helper`] = tokenHelper;
  access.secrets.push(token);
}

function addKey(access: Access, options: AccessOptions): void {
  const { credential, address } = options;
  if (credential) {
    if (!isPrivateKey(credential)) {
      throw authenticationRequired(
        `The credential for ${address.host} is not a private key. An ssh URL requires a private key.`,
        "Store a private key without a passphrase as the secret, or use the repository's https URL.",
      );
    }
    access.keyFile = openUnlinkedFile(`${credential.replaceAll("\r", "")}\n`);
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
  const sshArgs = ["ssh", "-F", "/dev/null", ...settings.flatMap((setting) => ["-o", setting])];
  // ssh closes inherited files, so it reads the key through git's open file. git is the parent of the shell that runs
  // ssh.
  return `${sshArgs.map(quote).join(" ")}${credential ? ` -i /proc/$PPID/fd/${keyFd}` : ""}`;
}

/** Returns the credential and, for `user:token`, also the token, which is a secret by itself. */
export function secretsOfCredential(credential: string): string[] {
  const token = isPrivateKey(credential) ? "" : credential.slice(credential.indexOf(":") + 1).trim();
  return [credential, ...(token.length >= 8 ? [token] : [])];
}

function isPrivateKey(credential: string): boolean {
  return /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(credential);
}

/** Opens an unlinked file, in memory if possible, so that nothing remains if the worker dies. */
export function openUnlinkedFile(content: string): number {
  const path = join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), `outrider-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  rmSync(path);
  writeSync(file, content);
  return file;
}
