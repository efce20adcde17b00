import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Outrider } from "@outrider/sdk";
import { exits, UsageError } from "./exit-codes.ts";
import { DEFAULT_PROFILE, type Profile, readProfiles } from "./profiles.ts";
import { version } from "./version.ts";

export interface ConnectionFlags {
  profile?: string;
  server?: string;
}

export const LOCAL_SERVER = "http://127.0.0.1:4000";

/** Returns the API's base URL. Accepts the server's URL with or without the API path. */
export function toBaseUrl(server: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw new UsageError(
      `${JSON.stringify(server)} is not a valid URL. Use a URL such as https://outrider.example.com.`,
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new UsageError(`The server URL must start with https:// or http://, not ${url.protocol}`);
  if (url.username || url.password)
    throw new UsageError(
      "The server URL must not contain a user or password. Run `outrider login` to store a key.",
    );
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${path === "" ? "/api/v1" : path}`;
}

/** Returns the server and the key to use. Flags override environment variables, which override the stored login. */
export function findConnection(flags: ConnectionFlags): Profile {
  const { OUTRIDER_API_KEY, OUTRIDER_BASE_URL, OUTRIDER_PROFILE } = process.env;
  const profiles = readProfiles();
  const named = flags.profile ?? OUTRIDER_PROFILE;
  const profile = profiles[named ?? DEFAULT_PROFILE];
  if (named !== undefined && !profile)
    throw new UsageError(
      `Profile ${JSON.stringify(named)} not found. Create it with \`outrider login --profile ${named}\`.`,
      { exit: exits.auth, code: "authentication_required" },
    );
  // The --profile flag overrides both environment variables.
  const [baseFromEnvironment, keyFromEnvironment] =
    flags.profile === undefined ? [OUTRIDER_BASE_URL?.trim(), OUTRIDER_API_KEY?.trim()] : [];
  const base_url = toBaseUrl(flags.server ?? (baseFromEnvironment || profile?.base_url || LOCAL_SERVER));
  // Send a stored key only to the server that it was stored for.
  const stored = [profile, ...Object.values(profiles)].find((candidate) => candidate?.base_url === base_url);
  const api_key = keyFromEnvironment || stored?.api_key;
  if (!api_key)
    throw new UsageError(missingKeyMessage(base_url), { exit: exits.auth, code: "authentication_required" });
  return { base_url, api_key };
}

export function clientOptions({ base_url, api_key }: Profile) {
  return {
    baseURL: base_url,
    apiKey: api_key,
    defaultHeaders: { "x-outrider-client": `cli/${version}` },
    // Log to stderr: console.debug and console.info would write to stdout, which is reserved for data.
    logger: { debug: console.error, info: console.error, warn: console.error, error: console.error },
  };
}

/** Creates the API client. This is the only place that loads the SDK. */
export async function connect(flags: ConnectionFlags): Promise<Outrider> {
  const found = findConnection(flags);
  const { Outrider } = await import("@outrider/sdk");
  return new Outrider(clientOptions(found));
}

function missingKeyMessage(base: string): string {
  const file = join(process.env.OUTRIDER_DATA_DIR ?? ".outrider", "key");
  const server = base === toBaseUrl(LOCAL_SERVER) ? "" : ` --server ${base}`;
  if (existsSync(file))
    return `No API key for ${base}. To use the key of the local installation, run \`outrider login${server} --key-stdin < ${file}\`.`;
  return `No API key for ${base}. Run \`outrider login${server}\` or set OUTRIDER_API_KEY.`;
}
