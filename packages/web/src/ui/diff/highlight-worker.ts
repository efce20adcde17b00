import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import type { HighlightRequest, HighlightResponse, Token } from "./highlight.ts";
import { languageOf } from "./languages.ts";

/** Highlights code in a worker thread, because a grammar can take hundreds of milliseconds for one file. */

const theme = createCssVariablesTheme({ name: "outrider", variablePrefix: "--syntax-" });

let highlighter: Promise<HighlighterCore> | undefined;

async function highlight(text: string, path: string): Promise<Token[][] | undefined> {
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

self.addEventListener("message", ({ data }: MessageEvent<HighlightRequest>) => {
  const respond = (response: HighlightResponse) => self.postMessage(response);
  highlight(data.text, data.path).then(
    (tokens) => respond({ id: data.id, tokens }),
    // The code stays plain.
    () => respond({ id: data.id, tokens: undefined }),
  );
});
