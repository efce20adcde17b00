import { findExcess } from "@outrider/agent/json-meter";
import { corrupt, ImageError, printable, tooLarge, unsupported } from "./image-error.ts";
import type { ImageLimits } from "./limits.ts";
import { isDigest } from "./reference.ts";

/** A reference to a blob or a manifest, with everything that is needed to verify it. */
export interface Descriptor {
  digest: string;
  size: number;
}

export interface LayerDescriptor extends Descriptor {
  mediaType: string;
}

export interface Manifest {
  config: Descriptor;
  layers: LayerDescriptor[];
}

/** The parts of an image's configuration that apply to a sandbox. */
export interface ImageConfig {
  /** In the image's order, without entries that have no valid name. */
  env: Record<string, string>;
  /** An absolute path. Undefined if the image has none. */
  workingDir: string | undefined;
  /** As in the image: a name or an id, optionally with a group (`postgres`, `1000:1000`). Undefined for root. */
  user: string | undefined;
  /** The first instruction that it adds to Dockerfiles, shortened. */
  onBuild?: string;
}

const jsonLimits = { depth: 32, values: 100_000 };
const MAX_INDEX_ENTRIES = 1_000;
const MAX_VARIABLES = 1_000;
const MAX_TEXT_LENGTH = 128 * 1024;

/** What we push. */
export const ociTypes = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
};

const manifestTypes = [ociTypes.manifest, "application/vnd.docker.distribution.manifest.v2+json"];
const indexTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];
/** The compression is detected from the blob itself, because some registries and tools declare the wrong one. */
const layerType =
  /^application\/vnd\.(?:oci\.image\.layer\.v1\.tar|docker\.image\.rootfs\.diff\.tar)(?:[.+](?:gzip|zstd))?$/;

export const acceptedManifests = [...indexTypes, ...manifestTypes].join(", ");

type Json = Record<string, unknown>;

/** Parses a manifest or an index. From an index, returns the descriptor of the manifest for this machine. */
export function parseManifest(
  bytes: Buffer,
  { contentType, architecture, limits }: { contentType: string; architecture: string; limits: ImageLimits },
): Manifest | { select: Descriptor } {
  const json = parseJson(bytes, "manifest");
  const type = typeof json.mediaType === "string" ? json.mediaType : contentType;
  const isIndex =
    indexTypes.includes(type) || (!manifestTypes.includes(type) && Array.isArray(json.manifests));
  if (isIndex) return { select: selectPlatform(json, architecture) };
  if (json.schemaVersion === 1)
    throw unsupported("The image has an old format (schema 1) that Docker no longer supports either.");
  if (!manifestTypes.includes(type) && !Array.isArray(json.layers))
    throw unsupported(`The registry returned "${printable(type)}", which is not an image.`);
  const layers = listOf(json.layers, "layers");
  if (layers.length > limits.maxLayers)
    throw tooLarge(`The image has ${layers.length} layers; the limit is ${limits.maxLayers}.`);
  const described = layers.map(layerOf);
  const manifest = { config: descriptorOf(json.config), layers: described };
  const total = manifest.layers.reduce((sum, { size }) => sum + size, 0);
  if (total > limits.maxDownloadBytes)
    throw tooLarge(
      `The image's layers have ${megabytes(total)} compressed; the limit is ${megabytes(limits.maxDownloadBytes)}.`,
    );
  if (manifest.config.size > limits.maxManifestBytes)
    throw tooLarge("The image's configuration is too large.");
  return manifest;
}

function selectPlatform(index: Json, architecture: string): Descriptor {
  const entries = listOf(index.manifests, "manifests");
  if (entries.length > MAX_INDEX_ENTRIES) throw tooLarge(`The image has ${entries.length} variants.`);
  const platforms = entries.map((entry) => ({ entry, ...platformOf(entry.platform) }));
  const matching = platforms.filter((each) => each.os === "linux" && each.architecture === architecture);
  // Without a variant, an entry is for the most common processors of its architecture.
  const best = matching.find(({ variant }) => variant === "") ?? matching[0];
  if (best) return descriptorOf(best.entry);
  const names = platforms.filter(({ os }) => os !== "unknown").map((each) => platformName(each));
  throw wrongArchitecture(architecture, [...new Set(names)]);
}

/** Parses the configuration, and returns the digests of the uncompressed layers and all of its fields too. */
export function parseConfig(
  bytes: Buffer,
  { architecture, layerCount }: { architecture: string; layerCount: number },
): { config: ImageConfig; diffIds: string[]; fields: Json } {
  const json = parseJson(bytes, "configuration");
  const platform = platformOf(json);
  if (platform.os !== "linux" || platform.architecture !== architecture)
    throw wrongArchitecture(architecture, [platformName(platform)]);
  const diffIds = (json.rootfs as Json | null | undefined)?.diff_ids;
  if (!Array.isArray(diffIds) || !diffIds.every(isDigest))
    throw corrupt("The image's configuration has no valid list of layers.");
  if (diffIds.length !== layerCount)
    throw corrupt(
      `The image's configuration lists ${diffIds.length} layers, but its manifest has ${layerCount}.`,
    );
  const settings = (typeof json.config === "object" && json.config !== null ? json.config : {}) as Json;
  const [onBuild] = Array.isArray(settings.OnBuild) ? settings.OnBuild : [];
  const config = {
    ...(typeof onBuild === "string" && onBuild ? { onBuild: printable(onBuild, 200) } : {}),
    env: variablesOf(settings.Env),
    workingDir: absolutePath(textOf(settings.WorkingDir, "WORKDIR")),
    user: textOf(settings.User, "USER"),
  };
  return { config, diffIds, fields: json };
}

/** Returns the name that images use for this machine's architecture. */
export function architectureOf(arch: string = process.arch): string {
  const names: Record<string, string> = { x64: "amd64", ia32: "386", ppc64: "ppc64le", loong64: "loong64" };
  return names[arch] ?? arch;
}

function parseJson(bytes: Buffer, what: string): Json {
  const excess = findExcess(bytes, jsonLimits);
  if (excess) throw tooLarge(`The image's ${what} ${excess}.`);
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString());
  } catch (cause) {
    throw corrupt(`The image's ${what} is not valid JSON.`, { cause });
  }
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw corrupt(`The image's ${what} is not a JSON object.`);
  return json as Json;
}

function listOf(value: unknown, name: string): Json[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === "object" && item !== null))
    throw corrupt(`The image's manifest has no valid \`${name}\`.`);
  return value;
}

function descriptorOf(value: unknown): Descriptor {
  const { digest, size } = (value ?? {}) as Json;
  if (!isDigest(digest) || !Number.isSafeInteger(size) || (size as number) < 0)
    throw corrupt("The image's manifest has an entry without a valid SHA-256 digest and size.");
  return { digest, size: size as number };
}

function layerOf(layer: Json): LayerDescriptor {
  const { mediaType } = layer;
  if (typeof mediaType !== "string" || !layerType.test(mediaType))
    throw unsupported(`A layer of the image has the unsupported type "${printable(String(mediaType))}".`);
  return { ...descriptorOf(layer), mediaType };
}

function platformOf(value: unknown): { os: string; architecture: string; variant: string } {
  const { os, architecture, variant } = (value ?? {}) as Json;
  const text = (field: unknown, fallback: string) => (typeof field === "string" ? field : fallback);
  return {
    os: text(os, "unknown"),
    architecture: text(architecture, "unknown"),
    variant: text(variant, ""),
  };
}

function platformName({ os, architecture, variant }: ReturnType<typeof platformOf>): string {
  return printable(`${os}/${architecture}${variant === "" ? "" : `/${variant}`}`, 50);
}

function wrongArchitecture(architecture: string, available: string[]): ImageError {
  const names = available.slice(0, 20).join(", ") || "none";
  return new ImageError(
    "wrong_architecture",
    `The image is not available for linux/${architecture}. Available: ${names}.`,
    `Use an image for linux/${architecture}, or a worker with another processor.`,
  );
}

function variablesOf(value: unknown): Record<string, string> {
  if (!Array.isArray(value)) return {};
  if (value.length > MAX_VARIABLES) throw tooLarge(`The image sets ${value.length} environment variables.`);
  const pairs = value
    .map((item) => textOf(item, "ENV") ?? "")
    .map((text) => /^([A-Za-z_][A-Za-z0-9_]*)=([\s\S]*)$/.exec(text))
    .flatMap((match): [string, string][] => (match?.[1] ? [[match[1], match[2] ?? ""]] : []));
  return Object.fromEntries(pairs);
}

function textOf(value: unknown, name: string): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  if (value.length > MAX_TEXT_LENGTH) throw tooLarge(`The image's ${name} is too long.`);
  if (value.includes("\0")) throw corrupt(`The image's ${name} contains a NUL character.`);
  return value;
}

/** Docker reads a relative WORKDIR as relative to the root. */
function absolutePath(path: string | undefined): string | undefined {
  return path === undefined || path.startsWith("/") ? path : `/${path}`;
}

export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}
