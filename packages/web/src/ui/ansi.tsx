import Anser, { type AnserJsonEntry } from "anser";
import clsx from "clsx";
import { memo } from "react";

const MAX_CHARACTERS = 200_000;

/** Colours by meaning, so that both themes can be read: a terminal's own would vanish on one of them. */
const colours: Record<string, string> = {
  red: "text-bad",
  green: "text-good",
  yellow: "text-warn",
  blue: "text-live",
  cyan: "text-live",
  magenta: "text-accent-ink",
  black: "text-muted",
};

/** What a program printed for a terminal, as text with colours. Nothing in it can do more than colour. */
export const Ansi = memo(function Ansi({ text }: { text: string }) {
  const parts = Anser.ansiToJson(printed(text.slice(-MAX_CHARACTERS)), {
    json: true,
    remove_empty: true,
    use_classes: true,
  });
  return (
    <pre className="whitespace-pre-wrap break-words font-mono [unicode-bidi:plaintext]">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the text only grows at its end.
        <Part key={index} part={part} />
      ))}
    </pre>
  );
});

function Part({ part: { content, fg, decorations } }: { part: AnserJsonEntry }) {
  const look = clsx(
    colours[(fg ?? "").replace(/^ansi-(bright-)?/, "")],
    decorations.includes("bold") && "font-semibold",
    decorations.includes("dim") && "text-muted",
    decorations.includes("italic") && "italic",
    decorations.includes("underline") && "underline",
    decorations.includes("strikethrough") && "line-through",
  );
  return look ? <span className={look}>{content}</span> : content;
}

const ESC = "\\u001b";
/** Window titles and links, everything a CSI may begin but colours (`m`), shorter escapes, and control characters alone. */
const control = new RegExp(
  [
    `${ESC}\\][^\\u0007${ESC}\\n]*(\\u0007|${ESC}\\\\)?`,
    `${ESC}\\[[0-?]*[ -/]*[@-ln-~]`,
    `${ESC}[^[\\]]`,
    "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001a\\u001c-\\u001f\\u007f-\\u009f]",
  ].join("|"),
  "g",
);

/** Without what moves a cursor or names a window. Of a line that was written over, the last writing counts. */
function printed(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(control, "")
    .split("\n")
    .map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replaceAll("\r", ""))
    .join("\n");
}
