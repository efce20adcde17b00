import { type Body, type Heard, type HeardMessage, list, text } from "./dialect.ts";

const lines = /^(?:\d+\t)?\s*(\+?\s*(?:THINK|SAY|RUN|WRITE|CALL|ASK|SLEEP): .*)$/gm;

/**
 * For a model that does whatever it reads, be it in its instructions (of Anthropic) or in what a tool returns: scripts
 * there are heard as if the user had said them.
 */
export function obedient(heard: Heard, body: Body): Heard {
  const instructions = list(body.system).map((block) => text(block.text));
  const told = heard.messages.flatMap((message) =>
    message.role === "result" ? [message, ...scriptIn(message.text)] : [message],
  );
  return { ...heard, messages: [...instructions.flatMap(scriptIn), ...told] };
}

function scriptIn(read: string): HeardMessage[] {
  const script = [...read.matchAll(lines)].map(([, line]) => line);
  return script.length > 0 ? [{ role: "user", text: script.join("\n"), images: 0 }] : [];
}
