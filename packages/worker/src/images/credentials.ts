import { findExcess } from "@outrider/agent/json-meter";
import { ImageError } from "./image-error.ts";
import { apiHost } from "./reference.ts";

export interface Credentials {
  username: string;
  password: string;
}

const MAX_LENGTH = 256 * 1024;

/**
 * Parses the credentials for a registry: `user:token`, or the JSON of Docker's `config.json`, of which only the entry
 * of this registry is used. Errors never quote the text.
 */
export function parseCredentials(text: string, registry: string): Credentials | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_LENGTH) throw invalid("are too long");
  return trimmed.startsWith("{") ? fromDockerConfig(trimmed, registry) : splitPair(trimmed);
}

function splitPair(text: string): Credentials {
  const colon = text.indexOf(":");
  if (colon < 1 || colon === text.length - 1 || /\p{Cc}/u.test(text)) throw invalid("have another form");
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function fromDockerConfig(text: string, registry: string): Credentials | undefined {
  if (findExcess(text, { depth: 8, values: 10_000 })) throw invalid("have too many values");
  let auths: unknown;
  try {
    auths = JSON.parse(text).auths;
  } catch {
    throw invalid("are not valid JSON");
  }
  if (typeof auths !== "object" || auths === null) throw invalid("have no `auths`");
  const entry = Object.entries(auths).find(([key]) => hostOfKey(key) === hostOfKey(registry))?.[1];
  if (entry === undefined) return undefined;
  const { auth, username, password, identitytoken } = (entry ?? {}) as Record<string, unknown>;
  if (typeof username === "string" && typeof password === "string" && username && password)
    return { username, password };
  if (typeof auth === "string" && auth !== "") return splitPair(Buffer.from(auth, "base64").toString());
  if (identitytoken) throw invalid(`have only an identity token for ${registry}, which is not supported`);
  throw invalid(`have no \`auth\` for ${registry}`);
}

/** Docker stores Docker Hub's credentials under its old URL, and others with or without `https://`. */
function hostOfKey(key: string): string {
  const host = key.replace(/^https?:\/\//, "").split("/")[0] ?? "";
  return apiHost(host === "index.docker.io" ? "docker.io" : host);
}

function invalid(problem: string): ImageError {
  return new ImageError(
    "invalid_credentials",
    `The credentials for the registry ${problem}.`,
    "Store `user:token`, or the content of Docker's config.json with `auths`, in the secret.",
  );
}
