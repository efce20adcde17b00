import {
  cleanUrl,
  credentialNotices,
  emptyPreset,
  type ResolvePreset,
  runTool,
  uniqueTargets,
} from "./preset.ts";

const names = ["GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE"] as const;

/** Go's module proxies and its checksum database. Modules that Go fetches without a proxy need entries of their own. */
export const resolveGo: ResolvePreset = async (context) => {
  const text = await runTool(context, "go", "env", "-json", ...names);
  if (text === undefined)
    return {
      ...emptyPreset,
      notices: ["preset:go allows nothing, because go is not installed on the worker."],
    };
  const config = JSON.parse(text) as Partial<Record<(typeof names)[number], string>>;
  const proxies = (config.GOPROXY ?? "").split(/[,|]/).flatMap((entry) => cleanUrl(entry.trim()) ?? []);
  const database = databaseUrl(config.GOSUMDB ?? "");
  const urls = [...proxies, ...(database ? [database] : [])];
  const goproxy = (config.GOPROXY ?? "").replaceAll(
    /[^,|]+/g,
    (entry) => cleanUrl(entry.trim())?.url ?? entry,
  );
  const environment = Object.fromEntries(
    names.flatMap((name) => (config[name] ? [[name, config[name]]] : [])),
  );
  return {
    ...emptyPreset,
    targets: uniqueTargets(urls.map(({ target }) => target)),
    environment: { ...environment, ...(goproxy ? { GOPROXY: goproxy } : {}) },
    notices: [
      ...credentialNotices("go", urls),
      ...(urls.length === 0
        ? ["preset:go allows nothing, because GOPROXY names no proxy: set GOPROXY on the worker."]
        : []),
    ],
  };
};

/** GOSUMDB is `name`, `name+key` or `name+key url`. */
function databaseUrl(text: string) {
  const [name = "", url] = text.trim().split(/\s+/);
  if (name === "" || name === "off") return undefined;
  return cleanUrl(url ?? `https://${name.split("+")[0]}`);
}
