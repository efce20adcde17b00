import { parseTarget } from "../egress/host.ts";
import { ImageError, printable } from "./image-error.ts";

/** An image reference with Docker's defaults filled in. */
export interface Reference {
  /** The registry as Docker names it, including the port if the reference has one: `docker.io`, `localhost:5000`. */
  registry: string;
  /** `library/debian` for `debian`. */
  repository: string;
  /** Undefined if the reference has only a digest. If it has both, the digest decides. */
  tag: string | undefined;
  digest: string | undefined;
  /** The complete reference: `docker.io/library/debian:12`. */
  text: string;
}

const DOCKER_HUB = "docker.io";
const MAX_LENGTH = 512;
const MAX_REPOSITORY_LENGTH = 255;
const pathComponent = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const validTag = /^\w[\w.-]{0,127}$/;
const validDigest = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: unknown): text is string {
  return typeof text === "string" && validDigest.test(text);
}

/** Parses a reference by Docker's rules: `debian:12`, `ghcr.io/acme/ci@sha256:…`, `localhost:5000/x`. */
export function parseReference(text: string): Reference {
  const invalid = (problem: string) =>
    new ImageError(
      "invalid_reference",
      `"${printable(text)}" is not a valid image reference: ${problem}.`,
      "Use a reference like debian:12, ghcr.io/owner/name:tag or registry.example.com/name@sha256:….",
    );
  if (text.length > MAX_LENGTH) throw invalid(`it has more than ${MAX_LENGTH} characters`);
  if (/^[a-z]+:\/\//i.test(text)) throw invalid("it must not start with a protocol");
  const { name, tag, digest } = splitReference(text);
  if (digest !== undefined && !validDigest.test(digest))
    throw invalid("its digest must be sha256: and 64 hexadecimal digits in lower case");
  if (tag !== undefined && !validTag.test(tag))
    throw invalid("its tag must have 1 to 128 letters, digits, underscores, dots and dashes");

  const { registry, path } = splitRegistry(name);
  if (!parseTarget(registry, 443)) throw invalid(`"${printable(registry)}" is not a registry`);
  if (path === "") throw invalid("it has no name");
  if (path !== path.toLowerCase()) throw invalid("its name must be in lower case");
  const components = path.split("/");
  if (path.length > MAX_REPOSITORY_LENGTH || !components.every((part) => pathComponent.test(part)))
    throw invalid("its name has characters that are not allowed");
  const repository = registry === DOCKER_HUB && components.length === 1 ? `library/${path}` : path;
  const usedTag = tag ?? (digest === undefined ? "latest" : undefined);
  const suffix = `${usedTag === undefined ? "" : `:${usedTag}`}${digest === undefined ? "" : `@${digest}`}`;
  return { registry, repository, tag: usedTag, digest, text: `${registry}/${repository}${suffix}` };
}

function splitReference(text: string): { name: string; tag?: string; digest?: string } {
  const at = text.indexOf("@");
  const digest = at < 0 ? {} : { digest: text.slice(at + 1) };
  const tagged = at < 0 ? text : text.slice(0, at);
  // A colon before the last slash separates the registry's port.
  const colon = tagged.indexOf(":", tagged.lastIndexOf("/") + 1);
  return colon < 0
    ? { name: tagged, ...digest }
    : { name: tagged.slice(0, colon), tag: tagged.slice(colon + 1), ...digest };
}

/** The first part is a registry if it has a dot or a port, or is `localhost`. Otherwise, the image is on Docker Hub. */
function splitRegistry(name: string): { registry: string; path: string } {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  if (slash < 0 || !(/[.:]/.test(first) || first === "localhost"))
    return { registry: DOCKER_HUB, path: name };
  const registry = first === "index.docker.io" ? DOCKER_HUB : first;
  return { registry, path: name.slice(slash + 1) };
}

/** Returns the host that serves a registry's API. Docker Hub's is not the one in its name. */
export function apiHost(registry: string): string {
  return registry === DOCKER_HUB ? "registry-1.docker.io" : registry;
}
