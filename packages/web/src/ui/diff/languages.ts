import type { LanguageInput } from "shiki/core";

type Load = () => Promise<{ default: LanguageInput }>;

/** The languages that can be highlighted. Each grammar is loaded when a file needs it. */
const languages: Record<string, { load: Load; endings: string[] }> = {
  tsx: {
    load: () => import("shiki/langs/tsx.mjs"),
    endings: ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
  },
  python: { load: () => import("shiki/langs/python.mjs"), endings: ["py", "pyi"] },
  go: { load: () => import("shiki/langs/go.mjs"), endings: ["go"] },
  rust: { load: () => import("shiki/langs/rust.mjs"), endings: ["rs"] },
  java: { load: () => import("shiki/langs/java.mjs"), endings: ["java", "kt"] },
  c: { load: () => import("shiki/langs/c.mjs"), endings: ["c", "h", "cc", "cpp", "hpp"] },
  json: { load: () => import("shiki/langs/json.mjs"), endings: ["json", "jsonc"] },
  yaml: { load: () => import("shiki/langs/yaml.mjs"), endings: ["yml", "yaml"] },
  toml: { load: () => import("shiki/langs/toml.mjs"), endings: ["toml"] },
  shellscript: { load: () => import("shiki/langs/shellscript.mjs"), endings: ["sh", "bash", "zsh", "shell"] },
  css: { load: () => import("shiki/langs/css.mjs"), endings: ["css"] },
  sql: { load: () => import("shiki/langs/sql.mjs"), endings: ["sql"] },
};

/**
 * Returns the language for a path or for the info word of a Markdown code fence. Returns undefined if the language
 * cannot be highlighted.
 */
export function languageOf(path: string): { name: string; load: Load } | undefined {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const found = Object.entries(languages).find(
    ([name, { endings }]) => name === ending || endings.includes(ending),
  );
  return found && { name: found[0], load: found[1].load };
}
