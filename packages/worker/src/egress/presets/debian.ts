import { readFileSync } from "node:fs";
import {
  type CleanUrl,
  cleanUrl,
  credentialNotices,
  emptyPreset,
  type ResolvePreset,
  runTool,
  uniqueTargets,
} from "./preset.ts";

const configPath = "/etc/outrider/apt.conf";
const sourcesPath = "/etc/outrider/sources.list";

/** The repositories in apt's sources. */
export const resolveDebian: ResolvePreset = async (context) => {
  // Prints the files that an update would download, without downloading them.
  const text = await runTool(context, "apt-get", "update", "--print-uris");
  if (text === undefined)
    return {
      ...emptyPreset,
      notices: ["preset:debian allows nothing, because apt is not installed on the worker."],
    };
  const sources = parseSources(text);
  const urls = sources.map(({ clean }) => clean);
  const proxy = /^Acquire::https?::Proxy "(?!DIRECT"|")/im.test(
    (await runTool(context, "apt-config", "dump")) ?? "",
  );
  const codename = readCodename();
  // Other suites belong to other vendors, whose keys an image does not have.
  const own = sources.filter(({ release }) => codename !== "" && release.startsWith(codename));
  return {
    ...emptyPreset,
    targets: uniqueTargets(urls.map(({ target }) => target)),
    ...(own.length > 0
      ? {
          distribution: {
            codename,
            environment: { APT_CONFIG: configPath },
            files: {
              [configPath]: `Dir::Etc::SourceList "${sourcesPath}";\nDir::Etc::SourceParts "-";\n`,
              [sourcesPath]: own
                .map(({ clean, release, components }) => `deb ${clean.url} ${release} ${components}\n`)
                .join(""),
            },
          },
        }
      : {}),
    notices: [
      ...credentialNotices("debian", urls),
      ...(urls.length === 0
        ? ["preset:debian allows nothing, because apt has no sources on the worker."]
        : []),
      ...(proxy
        ? ["preset:debian: apt's own proxy on the worker is not used. Set OUTRIDER_UPSTREAM_PROXY instead."]
        : []),
    ],
  };
};

interface Source {
  clean: CleanUrl;
  release: string;
  components: string;
}

function parseSources(text: string): Source[] {
  const sources = new Map<string, { clean: CleanUrl; release: string; components: Set<string> }>();
  for (const [, uri = "", path = ""] of text.matchAll(/^'(\S+?)\/dists\/(\S+)'/gm)) {
    const [, release, component] = /^(.+?)\/(?:InRelease|([^/]+)\/binary-.*)$/.exec(path) ?? [];
    const clean = cleanUrl(uri);
    if (!release || !clean) continue;
    const key = `${clean.url} ${release}`;
    const source = sources.get(key) ?? { clean, release, components: new Set() };
    if (component) source.components.add(component);
    sources.set(key, source);
  }
  return [...sources.values()].map((source) => ({ ...source, components: [...source.components].join(" ") }));
}

function readCodename(): string {
  try {
    return /^VERSION_CODENAME="?([a-z0-9.-]+)"?$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}
