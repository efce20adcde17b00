import { type Body, list, type ParsedMessage, type ParsedRequest, text } from "./dialect.ts";

const lines = /^(?:\d+\t)?\s*(\+?\s*(?:THINK|SAY|RUN|WRITE|CALL|ASK|SLEEP): .*)$/gm;

/**
 * Simulates a model that obeys injected instructions: script lines in the system prompt (Anthropic) or in tool results
 * are treated as if the user had sent them.
 */
export function obeyInjectedScripts(parsed: ParsedRequest, body: Body): ParsedRequest {
  const instructions = list(body.system).map((block) => text(block.text));
  const messages = parsed.messages.flatMap((message) =>
    message.role === "result" ? [message, ...scriptIn(message.text)] : [message],
  );
  return { ...parsed, messages: [...instructions.flatMap(scriptIn), ...messages] };
}

function scriptIn(content: string): ParsedMessage[] {
  const script = [...content.matchAll(lines)].map(([, line]) => line);
  return script.length > 0 ? [{ role: "user", text: script.join("\n"), images: 0 }] : [];
}
