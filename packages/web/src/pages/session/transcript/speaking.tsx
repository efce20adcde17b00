import { Bot } from "lucide-react";
import { useDeferredValue } from "react";
import { visible } from "../../../ui/visible.ts";
import { Markdown } from "./markdown.tsx";

/** Beyond this, drawing all of it again for each word would be felt; the end is what is read. */
const MOST = 6_000;

/** What the agent is saying right now. */
export function Speaking({ text }: { text: string }) {
  const shown = useDeferredValue(text.slice(-MOST));
  return (
    <article
      aria-label="The agent is speaking"
      className="overflow-clip rounded-lg border border-line bg-surface"
    >
      <header className="flex min-h-9 items-center gap-2 px-3">
        <Bot className="size-4 text-live" aria-hidden />
        <span className="font-medium">Agent</span>
      </header>
      <div className="px-4 pb-3">
        <Markdown text={visible(shown)} />
      </div>
    </article>
  );
}
