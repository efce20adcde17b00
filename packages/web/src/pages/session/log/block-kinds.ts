import type { RunEvent } from "@outrider/sdk";

/**
 * The kinds of transcript blocks. A block consists of one event, or of several events for the same command, tool call
 * or step.
 */
export const kinds = [
  "prompt",
  "message",
  "reasoning",
  "command",
  "change",
  "plan",
  "question",
  "tool",
  "artifact",
  "notice",
  "state",
  "step",
  "compaction",
  "publication",
] as const;
export type Kind = (typeof kinds)[number];

const kindOf: Partial<Record<RunEvent["type"], Kind>> = {
  "run.created": "prompt",
  "message.user": "prompt",
  "message.agent": "message",
  reasoning: "reasoning",
  "command.started": "command",
  "command.output": "command",
  "command.finished": "command",
  "file.changed": "change",
  "plan.updated": "plan",
  "run.blocked": "question",
  "tool.called": "tool",
  "tool.returned": "tool",
  "artifact.added": "artifact",
  notice: "notice",
  "environment.step": "step",
  compacted: "compaction",
  "branch.pushed": "publication",
  "pull_request.opened": "publication",
  "pull_request.updated": "publication",
};

/** Returns an event's block kind. Returns undefined for usage events, which have their own tab. */
export function kindOfEvent({ type }: RunEvent): Kind | undefined {
  if (type === "usage.updated") return undefined;
  return kindOf[type] ?? "state";
}

/** Tools whose effect has its own event. Their calls are shown only with the Tools filter or if they failed. */
const redundantTools = new Set([
  "update_plan",
  "write_file",
  "edit_file",
  "apply_patch",
  "ask",
  "run_command",
  "keep_artifact",
  // The tools of Claude Code, and the kind of tools that edit files in agents whose tools have no name.
  ...["Write", "Edit", "MultiEdit", "NotebookEdit", "TodoWrite", "edit"],
]);

export function isRedundantTool(tool: string): boolean {
  return redundantTools.has(tool);
}

/** Returns the key that groups several events into one block, and the event's position in that block. */
export function groupOf(event: RunEvent): { key: string; is: "first" | "more" | "last" } | undefined {
  switch (event.type) {
    case "command.started":
      return { key: `c ${event.data.command_id}`, is: "first" };
    case "command.output":
      return { key: `c ${event.data.command_id}`, is: "more" };
    case "command.finished":
      return { key: `c ${event.data.command_id}`, is: "last" };
    case "tool.called":
      return { key: `t ${event.data.call_id}`, is: "first" };
    case "tool.returned":
      return { key: `t ${event.data.call_id}`, is: "last" };
    case "environment.step":
      return {
        key: `e ${event.data.name}`,
        is: event.data.state === "started" ? "first" : "last",
      };
    default:
      return undefined;
  }
}

/** Returns whether the event marks its block as failed. */
export function isFailure(event: RunEvent): boolean {
  switch (event.type) {
    case "command.finished":
      return event.data.exit_code !== 0;
    case "tool.returned":
      return event.data.is_error === true;
    case "environment.step":
      return event.data.state === "failed";
    default:
      return event.type === "run.failed";
  }
}
