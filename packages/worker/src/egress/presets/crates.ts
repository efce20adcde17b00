import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CleanUrl,
  cleanUrl,
  credentialNotices,
  emptyPreset,
  type PresetContext,
  type ResolvePreset,
  runTool,
  uniqueTargets,
} from "./preset.ts";
import { parseTomlTables, type TomlTables } from "./toml-tables.ts";

/** cargo reads this file for every project, in addition to the project's own and the user's configuration. */
const configPath = "/.cargo/config.toml";
const fetchMs = 10_000;
const maxConfigBytes = 64 * 1024;

interface Registry {
  /** How cargo refers to the registry: the name of its table. */
  table: string[];
  key: "registry" | "index";
  isSparse: boolean;
  clean: CleanUrl;
}

/** cargo's registries, or those that replace them. */
export const resolveCrates: ResolvePreset = async (context) => {
  const config = readConfig(context);
  const replacement = config.get(JSON.stringify(["source", "crates-io"]))?.["replace-with"];
  const registries = [...config].flatMap(([table, values]) => parseRegistry(JSON.parse(table), values));
  const isReplaced =
    replacement !== undefined &&
    registries.some(({ table }) => table.join() === ["source", replacement].join());
  const standard = isReplaced ? [] : await findStandardIndex(context);
  const notices: string[] = [];
  if (!isReplaced && standard.length === 0)
    notices.push(
      "preset:crates: the default registry is not allowed, because cargo is not installed on the worker. Install it, or set a source replacement in ~/.cargo/config.toml.",
    );
  const indexes = [...registries, ...standard];
  const downloads = await Promise.all(indexes.map((index) => findDownloadUrl(index, notices)));
  const urls = [...indexes.map(({ clean }) => clean), ...downloads.flat()];
  const lines = [
    ...(isReplaced ? [`[source.crates-io]\nreplace-with = ${JSON.stringify(replacement)}\n`] : []),
    ...registries.map(({ table, key, isSparse, clean }) => {
      const name = table.map((part) => JSON.stringify(part)).join(".");
      return `[${name}]\n${key} = ${JSON.stringify(`${isSparse ? "sparse+" : ""}${clean.url}`)}\n`;
    }),
  ];
  return {
    ...emptyPreset,
    targets: uniqueTargets(urls.map(({ target }) => target)),
    files: lines.length > 0 ? { [configPath]: lines.join("") } : {},
    notices: [...notices, ...credentialNotices("crates", urls)],
  };
};

function readConfig({ environment }: PresetContext): TomlTables {
  const home = environment.CARGO_HOME ?? join(environment.HOME ?? "/", ".cargo");
  for (const name of ["config.toml", "config"]) {
    try {
      return parseTomlTables(readFileSync(join(home, name), "utf8"));
    } catch {
      // Most workers have none.
    }
  }
  return new Map();
}

function parseRegistry(table: string[], values: Record<string, string>): Registry[] {
  const key = table[0] === "source" ? "registry" : "index";
  if (table.length !== 2 || !/^(source|registries)$/.test(table[0] ?? "")) return [];
  const [, sparse, url = ""] = /^(sparse\+)?(.*)$/.exec(values[key] ?? "") ?? [];
  const clean = cleanUrl(url);
  return clean ? [{ table, key, isSparse: sparse !== undefined, clean }] : [];
}

/** Finds the URL of cargo's default registry in cargo's own program. cargo has no command that prints it. */
async function findStandardIndex(context: PresetContext): Promise<Registry[]> {
  const sysroot = await runTool(context, "rustc", "--print", "sysroot");
  const which = await runTool(context, "sh", "-c", "command -v cargo");
  const files = [...(sysroot ? [join(sysroot.trim(), "bin/cargo")] : []), ...(which ? [which.trim()] : [])];
  for (const file of files) {
    const url = await findSparseUrl(file).catch(() => undefined);
    const clean = url === undefined ? undefined : cleanUrl(url);
    if (clean) return [{ table: [], key: "registry", isSparse: true, clean }];
  }
  return [];
}

async function findSparseUrl(file: string): Promise<string | undefined> {
  let rest = "";
  for await (const chunk of createReadStream(file, { encoding: "latin1", highWaterMark: 2 ** 20 })) {
    const text = rest + chunk;
    const found = /sparse\+(https:\/\/[a-z0-9.-]+\/)/.exec(text);
    if (found) return found[1];
    rest = text.slice(-200);
  }
  return undefined;
}

/** A sparse registry says in its `config.json` where its packages are. */
async function findDownloadUrl({ clean, isSparse }: Registry, notices: string[]): Promise<CleanUrl[]> {
  const { host } = clean.target;
  if (!isSparse) {
    notices.push(
      `preset:crates: ${host} has a git index. If its packages are on another host, allow that host too.`,
    );
    return [];
  }
  try {
    const url = new URL("config.json", clean.url.replace(/\/*$/, "/"));
    const response = await fetch(url, { signal: AbortSignal.timeout(fetchMs), redirect: "error" });
    const { dl } = JSON.parse(await readBeginning(response)) as { dl?: unknown };
    const download = cleanUrl(String(dl).replaceAll(/\{[a-z0-9-]+\}/g, "x"));
    if (!response.ok || !download) throw new Error("no host");
    return [download];
  } catch {
    notices.push(
      `preset:crates: ${host} does not say on the worker where its packages are, so their host is not allowed.`,
    );
    return [];
  }
}

async function readBeginning({ body }: Response): Promise<string> {
  let text = "";
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString("latin1");
    if (text.length > maxConfigBytes) throw new Error("too large");
  }
  return text;
}
