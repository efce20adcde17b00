/**
 * The updates of a session that Outrider uses. Agents deviate from the protocol in details, so a field of the wrong type
 * counts as absent, and an update of an unknown type is skipped instead of ending the connection.
 */
import { z } from "zod";

/** Identifiers, titles and names are shown and stored; a longer one is an error of the agent. */
const MAX_NAME_CHARACTERS = 10_000;

const optionalText = z.string().optional().catch(undefined);
const name = z.string().max(MAX_NAME_CHARACTERS);
const optionalName = name.optional().catch(undefined);
const anyFields = z.record(z.string(), z.unknown()).optional().catch(undefined);

const Content = z.object({ type: name, text: optionalText, data: optionalText, mimeType: optionalName });
export type Content = z.infer<typeof Content>;

/** The result of a tool call: a block of content, a changed file, or the id of a terminal. */
const ToolContent = z.object({
  type: name,
  content: Content.optional().catch(undefined),
  path: optionalText,
});
export type ToolContent = z.infer<typeof ToolContent>;

const statuses = ["pending", "in_progress", "completed", "failed"] as const;
export type ToolCallStatus = (typeof statuses)[number];

const chunk = { content: Content, messageId: optionalName };

const toolCall = {
  toolCallId: name,
  title: optionalText,
  name: optionalName,
  kind: optionalName,
  status: z.enum(statuses).optional().catch(undefined),
  content: z.array(ToolContent).optional().catch(undefined),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: anyFields,
};

const SessionUpdate = z.discriminatedUnion("sessionUpdate", [
  z.object({ sessionUpdate: z.literal("agent_message_chunk"), ...chunk }),
  z.object({ sessionUpdate: z.literal("agent_thought_chunk"), ...chunk }),
  z.object({ sessionUpdate: z.literal("tool_call"), ...toolCall }),
  z.object({ sessionUpdate: z.literal("tool_call_update"), ...toolCall }),
  z.object({
    sessionUpdate: z.literal("plan"),
    entries: z.array(z.object({ content: z.string(), status: optionalName })),
  }),
  z.object({ sessionUpdate: z.literal("usage_update") }),
]);
export type SessionUpdate = z.infer<typeof SessionUpdate>;
export type ToolCallUpdate = Extract<SessionUpdate, { toolCallId: string }>;

const SessionNotification = z.object({ sessionId: z.string(), update: SessionUpdate });

/** Reads the parameters of `session/update`. Returns undefined if Outrider does not use the update. */
export function readSessionUpdate(params: unknown): { sessionId: string; update: SessionUpdate } | undefined {
  return SessionNotification.safeParse(params).data;
}
