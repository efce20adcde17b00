import { quote } from "../../quote.ts";
import type { Access } from "../access.ts";
import type { Address, AddressRules } from "../address.ts";
import { git } from "../git.ts";
import { explainGitError } from "../git-error.ts";
import { setupFailed } from "../repository-error.ts";

const AUTHENTICATE_MS = 60_000;
const MAX_ANSWER_CHARACTERS = 64 * 1024;
const MAX_HEADERS = 20;
const MAX_HEADER_CHARACTERS = 8 * 1024;
/** Headers that describe the connection, which only the client may set. */
const reservedHeaders =
  /^(?:host|connection|content-length|content-type|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|accept-encoding)$/i;

/** Where a repository's LFS server is, and how to authenticate with it. */
export interface LfsEndpoint {
  url: URL;
  /** Headers from the ssh server. They are sent only to the endpoint itself. */
  headers: Record<string, string>;
  /** Sent only to URLs with this origin. */
  credential?: { origin: string; authorization: string };
}

interface EndpointOptions {
  address: Address;
  access: Access;
  rules: AddressRules;
  /** `lfs.url` of the repository's `.lfsconfig`. */
  configuredUrl: string | undefined;
  signal: AbortSignal;
}

/** Finds the LFS server of an http, https or ssh repository. */
export async function findEndpoint(options: EndpointOptions): Promise<LfsEndpoint> {
  const { address, access, rules, configuredUrl } = options;
  if (configuredUrl === undefined && address.kind === "ssh") return await authenticateOverSsh(options);
  const url = requireSafeUrl(
    configuredUrl?.replace(/\/+$/, "") ??
      `${address.url.replace(/\/+$/, "").replace(/\.git$/, "")}.git/info/lfs`,
    rules,
  );
  const { OUTRIDER_GIT_USER: user, OUTRIDER_GIT_TOKEN: token } = access.env;
  if (token === undefined) return { url, headers: {} };
  const authorization = `Basic ${Buffer.from(`${user}:${token}`).toString("base64")}`;
  return { url, headers: {}, credential: { origin: new URL(address.url).origin, authorization } };
}

/** Asks the ssh server for the URL of its LFS server and for a temporary credential. */
async function authenticateOverSsh({
  address,
  access,
  rules,
  signal,
}: EndpointOptions): Promise<LfsEndpoint> {
  const [, userAndHost = "", port, path = ""] =
    /^ssh:\/\/([^/]*?)(?::(\d+))?(\/.*)$/.exec(address.url) ?? /^([^:]*)()?:(.*)$/.exec(address.url) ?? [];
  const remoteCommand = `git-lfs-authenticate ${quote(path)} download`;
  const args = [...(port ? ["-p", port] : []), userAndHost.replace(/[[\]]/g, ""), remoteCommand];
  // As an alias, the command is a child of git, like ssh during a fetch, so that it can read the key in the same way.
  const command = `!${access.env.GIT_SSH_COMMAND} ${args.map(quote).join(" ")}`;
  const result = await git({
    access: { ...access, settings: { ...access.settings, "alias.lfs-authenticate": command } },
    args: ["lfs-authenticate"],
    signal,
    timeoutMs: AUTHENTICATE_MS,
  });
  if (!result.ok && /not found|not recognized|unknown command|unrecognized/i.test(result.stderr)) {
    throw setupFailed(
      `${address.host} does not offer Git LFS over ssh.`,
      "Use the repository's https URL, or set `lfs` of the repository to false.",
    );
  }
  if (!result.ok) throw explainGitError(address, result);
  const answer = parseObject(result.stdout.slice(0, MAX_ANSWER_CHARACTERS));
  if (typeof answer?.href !== "string") {
    throw setupFailed(
      `${address.host} sent an invalid answer to git-lfs-authenticate.`,
      "Use the repository's https URL, or set `lfs` of the repository to false.",
    );
  }
  return { url: requireSafeUrl(answer.href.replace(/\/+$/, ""), rules), headers: safeHeaders(answer.header) };
}

/** Parses a URL that a server or a repository chose. The worker's proxy decides which addresses it can reach. */
export function requireSafeUrl(text: string, { insecureHosts }: AddressRules): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isEncrypted = url?.protocol === "https:";
  const isAllowed = isEncrypted || (url?.protocol === "http:" && insecureHosts.includes(url.host));
  if (url && isAllowed && url.username === "" && url.password === "") return url;
  throw setupFailed(
    `"${text.slice(0, 200).replaceAll(/\p{Cc}/gu, " ")}" is not a supported URL of a Git LFS server.`,
    "Configure the server with an https URL without credentials, or set `lfs` of the repository to false.",
  );
}

/** Returns the headers that a server asks the client to send, without those that could change the request. */
export function safeHeaders(given: unknown): Record<string, string> {
  const entries = typeof given === "object" && given !== null ? Object.entries(given) : [];
  const isSafe = ([name, value]: [string, unknown]) =>
    /^[A-Za-z0-9-]{1,100}$/.test(name) &&
    !reservedHeaders.test(name) &&
    typeof value === "string" &&
    value.length <= MAX_HEADER_CHARACTERS &&
    /^[\x20-\x7e]*$/.test(value);
  return Object.fromEntries(entries.slice(0, MAX_HEADERS).filter(isSafe)) as Record<string, string>;
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
