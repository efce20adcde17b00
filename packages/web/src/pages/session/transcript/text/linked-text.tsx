import { ExternalLink } from "./external-link.tsx";

const URLS = /\bhttps?:\/\/[^\s<>"'`|\\^{}⟨⟩]+/gi;
/** Punctuation that usually belongs to the sentence and not to the URL. */
const END = /[),.;:!?\]]+$/;
const MAX_LINKS = 50;

/** Shows text in which URLs are links. */
export function LinkedText({ text }: { text: string }) {
  if (!text.includes("://")) return text;
  const parts = [];
  let begin = 0;
  for (const { 0: found, index } of [...text.matchAll(URLS)].slice(0, MAX_LINKS)) {
    const url = found.replace(END, "");
    parts.push(
      text.slice(begin, index),
      <ExternalLink key={index} to={url}>
        {url}
      </ExternalLink>,
    );
    begin = index + url.length;
  }
  return [...parts, text.slice(begin)];
}
