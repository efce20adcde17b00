import { z } from "zod";
import { defineTool, line, loadDescription, path, type Tool, type ToolResult } from "./tool.ts";

export const PUBLISH_CHANGES = "publish_changes";

const MAX_TITLE_CHARACTERS = 256;
const MAX_BODY_CHARACTERS = 32_000;

export const PublishChangesInput = z.object({
  title: line("Title of the pull request: what it changes, in the imperative.").max(MAX_TITLE_CHARACTERS),
  body: z.string().max(MAX_BODY_CHARACTERS).meta({
    description:
      "Text of the pull request in Markdown: what was changed and why. The commands that you ran are added to it.",
  }),
  repository: path("The folder of the repository. Required if several repositories have changes.").optional(),
});
export type PublishChangesInput = z.infer<typeof PublishChangesInput>;

/** Publishes changes and returns what became of them. Only if they were published, `reason` is absent. */
export type PublishFunction = (
  input: { path?: string | undefined; title: string; body: string },
  signal: AbortSignal,
) => Promise<{ messages: string[]; reason?: string }>;

/** Creates the tool that publishes changes. */
export function createPublishChanges(publish: PublishFunction): Tool {
  return defineTool({
    name: PUBLISH_CHANGES,
    description: loadDescription(PUBLISH_CHANGES),
    input: PublishChangesInput,
    run: (input, { signal }) => publishForAgent(publish, input, signal),
  });
}

/** Publishes changes for an agent. A publication that waits for approval or is in progress is not an error. */
export async function publishForAgent(
  publish: PublishFunction,
  { repository, title, body }: PublishChangesInput,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { messages, reason } = await publish({ path: repository, title, body }, signal);
  const isError = reason !== undefined && !["needs approval", "still queued"].includes(reason);
  return { output: messages.join("\n"), ...(isError ? { is_error: true as const } : {}) };
}
