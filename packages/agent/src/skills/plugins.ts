import { posix } from "node:path";
import { z } from "zod";
import { findExcess } from "../json-meter.ts";
import type { CommitReader } from "./commit-reader.ts";

const MAX_MANIFEST_BYTES = 256 * 1024;
const MAX_PLUGINS = 100;
/** Enough for every plugin to list many skills. */
const manifestLimits = { depth: 20, values: 5_000 };

const Paths = z.union([z.string().transform((path) => [path]), z.array(z.string())]).catch([]);
const Plugin = z.object({ source: z.string().optional().catch(undefined), skills: Paths.optional() });
const Marketplace = z.object({ plugins: z.array(Plugin.catch({})).max(MAX_PLUGINS) });

/** Returns the skill folders that a repository's plugin manifests name. Invalid manifests are ignored. */
export async function pluginFolders(files: CommitReader): Promise<string[]> {
  const manifests = [".claude-plugin/marketplace.json", ".claude-plugin/plugin.json"];
  const [marketplace, plugin] = await files.read(manifests, { maxBytes: MAX_MANIFEST_BYTES });
  const parsedMarketplace =
    marketplace?.type === "file" ? Marketplace.safeParse(parseJson(marketplace.data)) : undefined;
  const parsedPlugin = plugin?.type === "file" ? Plugin.safeParse(parseJson(plugin.data)) : undefined;
  const plugins = [
    ...(parsedMarketplace?.data?.plugins ?? []),
    ...(parsedPlugin?.data ? [parsedPlugin.data] : []),
  ];
  const folders = plugins.flatMap(({ source = ".", skills }) => [
    joinInside(source, "skills"),
    // The path may refer to a single skill. In that case, its parent is the skills folder.
    ...(skills ?? []).flatMap((path) => [joinInside(source, path), joinInside(source, posix.dirname(path))]),
  ]);
  const candidates = [...new Set(folders)].filter((folder) => folder !== undefined).slice(0, MAX_PLUGINS);
  const contents = await files.read(candidates, { maxBytes: 0 });
  return candidates.filter((_, index) => contents[index]?.type === "folder");
}

function parseJson(data: Buffer): unknown {
  try {
    return findExcess(data, manifestLimits) === undefined ? JSON.parse(data.toString()) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Joins two paths. Returns undefined for URLs, for paths outside the repository, and for the repository's root, which
 * is not a skills folder.
 */
function joinInside(source: string, path: string): string | undefined {
  if (/^[a-z]+:|^\//i.test(source) || path.startsWith("/")) return undefined;
  const joined = posix.normalize(posix.join(source, path)).replace(/\/$/, "");
  return joined === "." || joined.startsWith("..") || /[\n\0]/.test(joined) ? undefined : joined;
}
