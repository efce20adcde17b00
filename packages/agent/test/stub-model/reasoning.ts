import { createHash } from "node:crypto";
import { type Body, list, text } from "./dialect.ts";

/**
 * How the stub treats reasoning that clients send back, like the provider whose API it speaks:
 * - `verify`: rejects reasoning that the stub did not send, or that was changed or moved.
 * - `require`: also rejects tool calls without their reasoning.
 * - `reject`: rejects any reasoning, because the API has no place for it.
 */
export type ReasoningRule = "verify" | "require" | "reject";

/** The thinking that a script writes to get a block that only the provider can read. */
export const REDACTED = "(redacted)";

/** Returns a value that only the stub can compute, so that it recognizes what it has sent. */
export function sign(...parts: string[]): string {
  return createHash("sha256")
    .update(["stub", ...parts].join("\n"))
    .digest("base64");
}

type Check = (body: Body, rule: ReasoningRule, sent: ReadonlySet<string>) => string | undefined;

/** Returns the first violation of the API's rules, or undefined. */
export const reasoningChecks: Record<"anthropic" | "responses" | "gemini" | "chat", Check> = {
  anthropic(body, rule) {
    const messages = list(body.messages);
    for (const [index, { role, content }] of messages.entries()) {
      if (role !== "assistant") continue;
      const blocks = list(content);
      const uses = blocks.filter(({ type }) => type === "tool_use");
      const thinking = blocks.filter(({ type }) => /thinking$/.test(type));
      if (thinking.length > 0 && rule === "reject") return "Unexpected thinking block.";
      for (const block of thinking) {
        const isOwn =
          block.type === "thinking"
            ? block.signature === sign(text(block.thinking))
            : block.data === sign(REDACTED);
        if (!isOwn) return "Invalid `signature` in `thinking` block";
      }
      if (thinking.length > 0 && uses.length > 0 && blocks.indexOf(thinking[0]) > blocks.indexOf(uses[0]))
        return "`thinking` blocks must precede `tool_use` blocks.";
      if (/thinking$/.test(text(blocks.at(-1)?.type)))
        return "The final block in an assistant message cannot be `thinking`.";
      if (rule === "require" && uses.length > 0 && !/thinking$/.test(text(blocks[0]?.type)))
        return "Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
      const results = new Set(list(messages[index + 1]?.content).map(({ tool_use_id }) => tool_use_id));
      if (uses.some(({ id }) => !results.has(id))) return "`tool_use` ids were found without `tool_result`.";
    }
    return undefined;
  },
  responses(body, rule) {
    const items = list(body.input);
    const calls = new Set<string>();
    let hasReasoning = false;
    for (const [index, item] of items.entries()) {
      const next = items[index + 1];
      if (item.type === "reasoning") {
        if (rule === "reject") return "Unexpected reasoning item.";
        const summary = list(item.summary).map((part) => text(part.text));
        if (body.store === false && item.encrypted_content !== sign(text(item.id), ...summary))
          return `The encrypted content of item '${item.id}' could not be verified.`;
        const isFollowed =
          next?.type === "function_call" || next?.type === "reasoning" || next?.role === "assistant";
        if (!isFollowed)
          return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
        hasReasoning = true;
      } else if (item.type === "function_call") {
        calls.add(text(item.call_id));
        if (rule === "require" && !hasReasoning)
          return `Item of type 'function_call' was provided without its required 'reasoning' item.`;
      } else if (item.type === "function_call_output") {
        if (!calls.has(text(item.call_id))) return "No tool call found for function call output.";
        hasReasoning = false;
      }
    }
    return undefined;
  },
  gemini(body, rule) {
    for (const { role, parts } of list(body.contents)) {
      if (role !== "model") continue;
      const calls = list(parts).filter(({ functionCall }) => functionCall);
      if (calls.length === 0) continue;
      const [{ functionCall, thoughtSignature }] = calls as [Body];
      if (rule === "require" && (thoughtSignature === undefined || thoughtSignature.startsWith("skip_")))
        return `Function call is missing a thought_signature in functionCall parts: ${functionCall.name}`;
      const isOwn = thoughtSignature === sign(text(functionCall.name));
      if (thoughtSignature !== undefined && !thoughtSignature.startsWith("skip_") && !isOwn)
        return "Thought signature is not valid";
    }
    return undefined;
  },
  chat(body, rule, sent) {
    const ids = new Set<string>();
    for (const { role, tool_calls, tool_call_id, reasoning_content } of list(body.messages)) {
      if (role === "tool" && !ids.has(tool_call_id)) return "Tool result without a tool call.";
      if (role !== "assistant") continue;
      for (const { id } of list(tool_calls)) ids.add(id);
      if (reasoning_content !== undefined) {
        if (rule === "reject") return "Unknown parameter: 'reasoning_content'.";
        if (!sent.has(reasoning_content)) return "The `reasoning_content` was changed.";
      } else if (rule === "require" && list(tool_calls).length > 0) {
        return "The `reasoning_content` in the thinking mode must be passed back to the API.";
      }
    }
    return undefined;
  },
};
