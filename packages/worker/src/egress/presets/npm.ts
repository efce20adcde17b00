import { readFileSync } from "node:fs";
import {
  cleanUrl,
  credentialNotices,
  emptyPreset,
  type PresetContext,
  type ResolvePreset,
  runTool,
  uniqueTargets,
} from "./preset.ts";

const globalConfigPath = "/etc/outrider/npmrc";

/** npm's registry and the registries of its scopes. */
export const resolveNpm: ResolvePreset = async (context) => {
  const text = await runTool(context, "npm", "config", "list", "--json");
  const listed = parseConfig(text);
  const config = listed && { ...readProtected(listed, context), ...listed };
  if (!config)
    return {
      ...emptyPreset,
      notices: ["preset:npm allows nothing, because npm is not installed on the worker."],
    };
  const environment = Object.fromEntries(
    Object.entries(context.environment).filter(([name]) => !/^npm_config_/i.test(name)),
  );
  const unconfigured = ["--userconfig", "/dev/null", "--globalconfig", "/dev/null"];
  const standard = await runTool(
    { ...context, environment },
    "npm",
    ...["config", "get", "registry", ...unconfigured],
  );
  const registry = cleanUrl(String(config.registry ?? ""));
  const scopes = Object.entries(config)
    .filter(([name]) => /^@[\w.~-]+:registry$/.test(name))
    .flatMap(([name, value]) => ({ name, clean: cleanUrl(String(value)) }))
    .flatMap(({ name, clean }) => (clean ? [{ name, clean }] : []));
  const urls = [...(registry ? [registry] : []), ...scopes.map(({ clean }) => clean)];
  // A variable would override the registry in a project's own .npmrc, so it is set only where it is needed.
  const isStandard = !registry || registry.url === standard?.trim();
  const lines = scopes.map(({ name, clean }) => `${name}=${clean.url}\n`);
  return {
    ...emptyPreset,
    targets: uniqueTargets(urls.map(({ target }) => target)),
    environment: {
      ...(isStandard ? {} : { NPM_CONFIG_REGISTRY: registry.url, YARN_NPM_REGISTRY_SERVER: registry.url }),
      ...(lines.length > 0 ? { NPM_CONFIG_GLOBALCONFIG: globalConfigPath } : {}),
    },
    // Replaces the sandbox's global configuration, so it repeats where programs are installed.
    files: lines.length > 0 ? { [globalConfigPath]: `prefix=\${HOME}/.local\n${lines.join("")}` } : {},
    notices: credentialNotices("npm", urls),
  };
};

/** npm does not print URLs with credentials. They are in its files or in a variable. */
function readProtected(
  listed: Record<string, unknown>,
  { environment }: PresetContext,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const file of [listed.globalconfig, listed.userconfig]) {
    for (const line of readLines(String(file))) {
      const [, name, value] = /^\s*((?:@[^:=\s]+:)?registry)\s*=\s*"?([^"\s]+)"?\s*$/.exec(line) ?? [];
      if (name && value)
        found[name] = value.replaceAll(/\$\{(\w+)\}/g, (_, variable) => environment[variable] ?? "");
    }
  }
  const variable = Object.entries(environment).find(([name]) => /^npm_config_registry$/i.test(name));
  return { ...found, ...(variable?.[1] ? { registry: variable[1] } : {}) };
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

function parseConfig(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
