import { useEffect, useState } from "react";
import type { HighlighterCore, LanguageRegistration } from "shiki/core";

export interface Token {
  text: string;
  /** A variable of the theme; none for plain ink. */
  colour: string | undefined;
}

type Grammar = () => Promise<{ default: LanguageRegistration[] }>;

/** The few languages that most changes are written in; each is fetched when it is first met. */
const grammars: Record<string, Grammar> = {
  typescript: () => import("shiki/langs/typescript.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
  bash: () => import("shiki/langs/bash.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  css: () => import("shiki/langs/css.mjs"),
};

const otherNames: Record<string, string> = {
  ts: "typescript",
  mts: "typescript",
  cts: "typescript",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsx: "tsx",
  py: "python",
  rs: "rust",
  yml: "yaml",
  sh: "bash",
  shell: "bash",
  zsh: "bash",
};

export function languageOf(name: string | undefined): string | undefined {
  const known = name?.toLowerCase() ?? "";
  const language = otherNames[known] ?? known;
  return Object.hasOwn(grammars, language) ? language : undefined;
}

export function languageOfPath(path: string): string | undefined {
  return languageOf(/\.(\w+)$/.exec(path)?.[1]);
}

/** More would hold up the page for longer than colours are worth. */
const MOST_CHARACTERS = 12_000;
const LONGEST_LINE = 400;

let core: Promise<HighlighterCore> | undefined;

async function highlighter(language: string): Promise<HighlighterCore> {
  core ??= Promise.all([import("shiki/core"), import("shiki/engine/javascript")]).then(
    ([{ createHighlighterCore, createCssVariablesTheme }, { createJavaScriptRegexEngine }]) =>
      createHighlighterCore({
        themes: [createCssVariablesTheme({ name: "ours", variablePrefix: "--code-", fontStyle: false })],
        langs: [],
        engine: createJavaScriptRegexEngine({ forgiving: true }),
      }),
  );
  const ready = await core;
  const grammar = grammars[language];
  if (grammar && !ready.getLoadedLanguages().includes(language)) await ready.loadLanguage(await grammar());
  return ready;
}

async function highlight(text: string, language: string): Promise<Token[][]> {
  const ready = await highlighter(language);
  await idle();
  const lines = ready.codeToTokensBase(text, { lang: language as never, theme: "ours" });
  return lines.map((line) =>
    line.map(({ content, color }) => ({
      text: content,
      colour: color === "var(--code-foreground)" ? undefined : color,
    })),
  );
}

/** Colours can wait until the page has nothing better to do. */
function idle(): Promise<void> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve(), { timeout: 1_000 });
    else setTimeout(resolve, 50);
  });
}

/** The text's lines in colours, once they are known; until then, and where they never will be, undefined. */
export function useHighlight(text: string, language: string | undefined): Token[][] | undefined {
  const [done, setDone] = useState<{ text: string; lines: Token[][] }>();
  useEffect(() => {
    const isTooMuch =
      text.length > MOST_CHARACTERS || text.split("\n").some(({ length }) => length > LONGEST_LINE);
    if (!language || isTooMuch) return;
    let isGone = false;
    highlight(text, language).then(
      (lines) => !isGone && setDone({ text, lines }),
      // Plain text is a fine answer to a grammar that does not come.
      () => {},
    );
    return () => {
      isGone = true;
    };
  }, [text, language]);
  return done?.text === text ? done.lines : undefined;
}
