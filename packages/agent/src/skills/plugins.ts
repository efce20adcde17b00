import { posix } from "node:path";
import { z } from "zod";
import type { CommitFiles } from "./commit-files.ts";

const MANIFEST_BYTES = 256 * 1024;
const PLUGINS = 100;

const Paths = z.union([z.string().transform((path) => [path]), z.array(z.string())]).catch([]);
const Plugin = z.object({ source: z.string().optional().catch(undefined), skills: Paths.optional() });
const Marketplace = z.object({ plugins: z.array(Plugin.catch({})).max(PLUGINS) });

/** Folders of skills that a repository's list of plugins names. A list that nobody can read names none. */
export async function pluginFolders(files: CommitFiles): Promise<string[]> {
  const manifests = [".claude-plugin/marketplace.json", ".claude-plugin/plugin.json"];
  const [marketplace, plugin] = await files.look(manifests, { maxBytes: MANIFEST_BYTES });
  const several = marketplace?.type === "file" ? Marketplace.safeParse(jsonOf(marketplace.data)) : undefined;
  const one = plugin?.type === "file" ? Plugin.safeParse(jsonOf(plugin.data)) : undefined;
  const plugins = [...(several?.data?.plugins ?? []), ...(one?.data ? [one.data] : [])];
  const folders = plugins.flatMap(({ source = ".", skills }) => [
    inside(source, "skills"),
    // A path to one skill stands for the folder that it lies in.
    ...(skills ?? []).flatMap((path) => [inside(source, path), inside(source, posix.dirname(path))]),
  ]);
  const known = [...new Set(folders)].filter((folder) => folder !== undefined).slice(0, PLUGINS);
  const looked = await files.look(known, { maxBytes: 0 });
  return known.filter((_, index) => looked[index]?.type === "folder");
}

function jsonOf(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}

/** Undefined where it is elsewhere, as an address or above the root, or is the root itself, where all sorts of things lie. */
function inside(source: string, path: string): string | undefined {
  if (/^[a-z]+:|^\//i.test(source) || path.startsWith("/")) return undefined;
  const joined = posix.normalize(posix.join(source, path)).replace(/\/$/, "");
  return joined === "." || joined.startsWith("..") || /[\n\0]/.test(joined) ? undefined : joined;
}
