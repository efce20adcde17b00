import { readFileSync } from "node:fs";
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

/** pip's index and its extra indexes. */
export const resolvePypi: ResolvePreset = async (context) => {
  const pip = await findPip(context);
  if (!pip)
    return {
      ...emptyPreset,
      notices: ["preset:pypi allows nothing, because pip is not installed on the worker."],
    };
  const config = parseConfig((await runTool(context, ...pip.command, "config", "list")) ?? "");
  const index = cleanAll(config("index-url"))[0];
  const extra = cleanAll(config("extra-index-url"));
  const standard = index ? [] : readStandardIndex(pip.folder);
  const urls = [...(index ? [index] : standard), ...extra];
  const trusted = words(config("trusted-host"));
  return {
    ...emptyPreset,
    targets: uniqueTargets(urls.map(({ target }) => target)),
    environment: {
      ...(index ? { PIP_INDEX_URL: index.url, UV_DEFAULT_INDEX: index.url } : {}),
      ...(extra.length > 0 ? { PIP_EXTRA_INDEX_URL: joinUrls(extra), UV_INDEX: joinUrls(extra) } : {}),
      ...(trusted.length > 0 ? { PIP_TRUSTED_HOST: trusted.join(" ") } : {}),
    },
    notices: [
      ...credentialNotices("pypi", urls),
      ...(urls.length === 0
        ? ["preset:pypi allows nothing: set pip's index-url on the worker, for example in /etc/pip.conf."]
        : []),
    ],
  };
};

const joinUrls = (urls: CleanUrl[]) => urls.map(({ url }) => url).join(" ");
const words = (text: string) => text.split(/\s+/).filter(Boolean);
const cleanAll = (text: string) => words(text).flatMap((word) => cleanUrl(word) ?? []);

type Command = [string, ...string[]];

/** Finds pip and the folder of its package. */
async function findPip(context: PresetContext): Promise<{ command: Command; folder: string } | undefined> {
  const commands: Command[] = [["pip3"], ["pip"], ["python3", "-m", "pip"]];
  for (const command of commands) {
    const version = await runTool(context, ...command, "--version");
    const folder = /^pip \S+ from (.+) \(python /m.exec(version ?? "")?.[1];
    if (folder) return { command, folder };
  }
  return undefined;
}

/** Parses `pip config list`. Variables come before the settings of the command `install`, then global ones. */
function parseConfig(text: string): (name: string) => string {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^([\w:.-]+)=(['"].*['"])\s*$/.exec(line) ?? [];
    if (name && value) values.set(name, value.slice(1, -1).replaceAll("\\n", "\n"));
  }
  return (name) =>
    values.get(`:env:.${name}`) ?? values.get(`install.${name}`) ?? values.get(`global.${name}`) ?? "";
}

/** Reads the index that pip uses by default, and the host of its files, from pip's own source. */
function readStandardIndex(folder: string): CleanUrl[] {
  let source: string;
  try {
    source = readFileSync(join(folder, "_internal/models/index.py"), "utf8");
  } catch {
    return [];
  }
  const [, index = "", files] =
    /^PyPI = PackageIndex\(\s*"([^"]+)",\s*file_storage_domain="([^"]+)"/m.exec(source) ?? [];
  return [index, `https://${files}/`].flatMap((url) => cleanUrl(url) ?? []);
}
