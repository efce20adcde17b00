import { Bot } from "lucide-react";
import { useDeferredValue } from "react";
import { sanitize } from "../../../../ui/text/sanitize.ts";
import { Markdown } from "../text/markdown.tsx";

/** Only the end of the text is shown, because rendering more with every token would be slow. */
const MAX_CHARACTERS = 6_000;

/** Shows the message that the agent is currently writing. */
export function StreamingMessage({ text }: { text: string }) {
  const shown = useDeferredValue(text.slice(-MAX_CHARACTERS));
  return (
    <article aria-label="Agent is writing" className="overflow-clip rounded-lg border border-line bg-surface">
      <header className="flex min-h-9 items-center gap-2 px-3">
        <Bot className="size-4 text-live" aria-hidden />
        <span className="font-medium">Agent</span>
      </header>
      <div className="px-4 pb-3">
        <Markdown text={sanitize(shown)} />
      </div>
    </article>
  );
}
