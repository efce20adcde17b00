import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CleanUrl,
  cleanUrl,
  credentialNotices,
  emptyPreset,
  homeFileMark,
  type ResolvePreset,
  runTool,
  uniqueTargets,
} from "./preset.ts";
import { readZipEntry } from "./zip-entry.ts";

/** Maven ignores the proxy variables, so its settings must name the sandbox's proxy. */
const sandboxProxy = { host: "127.0.0.1", port: 3128 };
const superPom = "org/apache/maven/model/pom-4.0.0.xml";

interface Mirror {
  of: string;
  clean: CleanUrl;
}

/** Maven's mirrors and the repositories in its settings, or its central repository if no mirror replaces it. */
export const resolveMaven: ResolvePreset = async (context) => {
  const version = await runTool(context, "mvn", "-version");
  const installation = /Maven home: (.+)/.exec(version ?? "")?.[1]?.trim();
  const userSettings = readText(join(context.environment.HOME ?? "/", ".m2/settings.xml"));
  if (installation === undefined && userSettings === "")
    return {
      ...emptyPreset,
      notices: [
        "preset:maven allows nothing, because Maven is not installed on the worker and has no ~/.m2/settings.xml there.",
      ],
    };
  const globalSettings = installation ? readText(join(installation, "conf/settings.xml")) : "";
  const settings = [userSettings, globalSettings].map((text) => text.replaceAll(/<!--[\s\S]*?-->/g, ""));
  const mirrors = settings.flatMap(listMirrors);
  const repositories = settings.flatMap(listRepositories);
  const isReplaced = mirrors.some(({ of }) => /^(.*,)?\s*(\*|external:\*|central)\s*(,.*)?$/.test(of));
  const central = isReplaced || !installation ? [] : readCentral(installation);
  const urls = [...mirrors.map(({ clean }) => clean), ...repositories, ...central];
  return {
    ...emptyPreset,
    targets: uniqueTargets(urls.map(({ target }) => target)),
    homeFiles: { ".m2/settings.xml": formatSettings({ mirrors, repositories }) },
    notices: credentialNotices("maven", urls),
  };
};

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const elements = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, "g"))].map((match) => match[1] as string);
const unescapeXml = (text: string) =>
  text
    .trim()
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function listMirrors(settings: string): Mirror[] {
  return elements(settings, "mirror")
    .filter((mirror) => elements(mirror, "blocked")[0]?.trim() !== "true")
    .flatMap((mirror) => {
      const clean = cleanUrl(unescapeXml(elements(mirror, "url")[0] ?? ""));
      return clean ? [{ of: unescapeXml(elements(mirror, "mirrorOf")[0] ?? ""), clean }] : [];
    });
}

function listRepositories(settings: string): CleanUrl[] {
  return ["repository", "pluginRepository"]
    .flatMap((name) => elements(settings, name))
    .flatMap((repository) => cleanUrl(unescapeXml(elements(repository, "url")[0] ?? "")) ?? []);
}

/** Reads the central repository from the model that Maven merges into every project. */
function readCentral(installation: string): CleanUrl[] {
  try {
    const folder = join(installation, "lib");
    const jar = readdirSync(folder).find((name) => /^maven-model-builder-.*\.jar$/.test(name));
    if (!jar) return [];
    return listRepositories(readZipEntry(join(folder, jar), superPom)?.toString() ?? "");
  } catch {
    return [];
  }
}

function formatSettings({ mirrors, repositories }: { mirrors: Mirror[]; repositories: CleanUrl[] }): string {
  const { host, port } = sandboxProxy;
  const proxies = ["http", "https"].map(
    (protocol) =>
      `<proxy><id>outrider-${protocol}</id><active>true</active><protocol>${protocol}</protocol><host>${host}</host><port>${port}</port><nonProxyHosts>localhost|127.0.0.1</nonProxyHosts></proxy>`,
  );
  const mirrorElements = mirrors.map(
    ({ of, clean }, index) =>
      `<mirror><id>mirror-${index + 1}</id><mirrorOf>${escapeXml(of)}</mirrorOf><url>${escapeXml(clean.url)}</url></mirror>`,
  );
  const repositoryElements = (name: string) =>
    [...new Set(repositories.map(({ url }) => url))].map(
      (url, index) => `<${name}><id>repository-${index + 1}</id><url>${escapeXml(url)}</url></${name}>`,
    );
  const profile = [
    "<profile><id>outrider</id><activation><activeByDefault>true</activeByDefault></activation>",
    `<repositories>${repositoryElements("repository").join("")}</repositories>`,
    `<pluginRepositories>${repositoryElements("pluginRepository").join("")}</pluginRepositories></profile>`,
  ].join("");
  return [
    "<settings>",
    `<!-- ${homeFileMark} -->`,
    `<proxies>${proxies.join("")}</proxies>`,
    `<mirrors>${mirrorElements.join("")}</mirrors>`,
    ...(repositories.length > 0 ? [`<profiles>${profile}</profiles>`] : []),
    "</settings>\n",
  ].join("\n");
}
