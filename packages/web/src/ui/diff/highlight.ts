import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import { languageOf } from "./languages.ts";

export interface Token {
  text: string;
  /** A CSS variable from theme.css, so that the same tokens work in both themes. */
  color?: string;
}

const theme = createCssVariablesTheme({ name: "outrider", variablePrefix: "--syntax-" });

let highlighter: Promise<HighlighterCore> | undefined;

/** Returns each line's tokens, or undefined for an unknown language. Import this module lazily, because it is large. */
export async function highlight(text: string, path: string): Promise<Token[][] | undefined> {
  const language = languageOf(path);
  if (!language) return undefined;
  highlighter ??= createHighlighterCore({
    themes: [theme],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const shiki = await highlighter;
  if (!shiki.getLoadedLanguages().includes(language.name))
    await shiki.loadLanguage((await language.load()).default);
  const lines = shiki.codeToTokensBase(text, {
    lang: language.name,
    theme: "outrider",
    tokenizeMaxLineLength: 1_000,
    // The limit applies per line. It is generous because the first use of a grammar is slow and a partly highlighted
    // line looks wrong.
    tokenizeTimeLimit: 500,
  });
  return lines.map((tokens) =>
    tokens.map(({ content, color }) => ({ text: content, ...(color && { color: color }) })),
  );
}
