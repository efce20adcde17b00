import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import { languageOf } from "./languages.ts";

export interface Token {
  text: string;
  /** A variable of theme.css, so that both themes are served by the same tokens. */
  colour?: string;
}

const theme = createCssVariablesTheme({ name: "outrider", variablePrefix: "--syntax-" });

let highlighter: Promise<HighlighterCore> | undefined;

/** Each line's tokens, or nothing where the language is not one of ours. Only ever fetched lazily: it is large. */
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
    // For a line: a grammar that is met for the first time takes its time, and half a line in colours looks wrong.
    tokenizeTimeLimit: 500,
  });
  return lines.map((tokens) =>
    tokens.map(({ content, color }) => ({ text: content, ...(color && { colour: color }) })),
  );
}
