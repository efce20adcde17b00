import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Outrider } from "@outrider/sdk";
import { Complaint, exits } from "./exit.ts";
import { DEFAULT_PROFILE, type Profile, readProfiles } from "./profiles.ts";
import { version } from "./version.ts";

export interface ConnectionFlags {
  profile?: string;
  server?: string;
}

export const LOCAL_SERVER = "http://127.0.0.1:4000";

/** The API's address: that of the server alone is enough. */
export function baseUrlOf(server: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw new Complaint(`${JSON.stringify(server)} is no address: give one like https://host.`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Complaint(`A server's address begins with https:// or http://, not ${url.protocol}`);
  if (url.username || url.password)
    throw new Complaint("The address must not hold a user or password: `outrider login` asks for the key.");
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${path === "" ? "/api/v1" : path}`;
}

/** Flags stand above the environment, and that above what was stored by `outrider login`. */
export function findConnection(flags: ConnectionFlags): Profile {
  const { OUTRIDER_API_KEY, OUTRIDER_BASE_URL, OUTRIDER_PROFILE } = process.env;
  const profiles = readProfiles();
  const named = flags.profile ?? OUTRIDER_PROFILE;
  const profile = profiles[named ?? DEFAULT_PROFILE];
  if (named !== undefined && !profile)
    throw new Complaint(
      `There is no profile ${JSON.stringify(named)}: make it with \`outrider login --profile ${named}\`.`,
      { exit: exits.auth, code: "authentication_required" },
    );
  // A profile by flag is the caller's last word on both.
  const [baseFromEnvironment, keyFromEnvironment] =
    flags.profile === undefined ? [OUTRIDER_BASE_URL?.trim(), OUTRIDER_API_KEY?.trim()] : [];
  const base_url = baseUrlOf(flags.server ?? (baseFromEnvironment || profile?.base_url || LOCAL_SERVER));
  // A stored key goes to the server that it was stored for and to no other.
  const stored = [profile, ...Object.values(profiles)].find((each) => each?.base_url === base_url);
  const api_key = keyFromEnvironment || stored?.api_key;
  if (!api_key)
    throw new Complaint(withoutKey(base_url), { exit: exits.auth, code: "authentication_required" });
  return { base_url, api_key };
}

export function clientOptions({ base_url, api_key }: Profile) {
  return {
    baseURL: base_url,
    apiKey: api_key,
    defaultHeaders: { "x-outrider-client": `cli/${version}` },
    // The console would write some of it to stdout, among the data.
    logger: { debug: console.error, info: console.error, warn: console.error, error: console.error },
  };
}

/** The SDK is loaded here and only here. */
export async function connect(flags: ConnectionFlags): Promise<Outrider> {
  const found = findConnection(flags);
  const { Outrider } = await import("@outrider/sdk");
  return new Outrider(clientOptions(found));
}

function withoutKey(base: string): string {
  const file = join(process.env.OUTRIDER_DATA_DIR ?? ".outrider", "key");
  const server = base === baseUrlOf(LOCAL_SERVER) ? "" : ` --server ${base}`;
  if (existsSync(file))
    return `No key for ${base}. The installation here keeps one: \`outrider login${server} --key-stdin < ${file}\`.`;
  return `No key for ${base}. Store one with \`outrider login${server}\`, or set OUTRIDER_API_KEY.`;
}
