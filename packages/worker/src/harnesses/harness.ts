import type { TurnEnd } from "@outrider/agent/turn/run-turn";
import type { TurnContext } from "@outrider/agent/turn/turn-context";
import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import type { BuildContext } from "../builds/build.ts";
import type { McpOptions } from "../mcp/servers.ts";
import type { PublishChanges } from "../publishing/publish-changes.ts";
import type { SandboxAdditions } from "../workspace/gateway-forward.ts";
import type { RunWorkspace } from "../workspace/workspace.ts";

/** Executes the turns of one execution: Outrider's own loop, or another agent. Opened before the first turn. */
export interface Harness {
  /** Runs one turn. A failed turn is a normal end; an exception is a bug. */
  turn(input: TurnInput, io: TurnIo): Promise<TurnEnd>;
  /** Changes when the agent loads a skill. */
  readonly receipt: HarnessReceipt;
  close(): Promise<void>;
}

/** What a turn starts from. */
export type TurnInput = Pick<TurnContext, "history" | "limits" | "usage">;

/** How a turn communicates with the run while it is in progress. */
export type TurnIo = Pick<
  TurnContext,
  "emit" | "delta" | "takeMessages" | "interrupt" | "timeIsUp" | "budget" | "signal" | "workspace" | "files"
>;

export type HarnessReceipt = Pick<RunReceipt, "skill" | "skills_used" | "mcp_servers" | "harness">;

export interface HarnessOptions extends McpOptions {
  assignment: Assignment;
  workspace: RunWorkspace;
  /** Absent if the run can publish nothing. */
  publishing?: Pick<PublishChanges, "byAgent"> | undefined;
  builds: Pick<BuildContext, "repositories" | "maxMirrorBytes" | "egressSessions">;
  onReceiptChanged(): void;
}

/** A harness whose programs are on this worker, before the run's sandbox opens. */
export interface PreparedHarness {
  additions?: SandboxAdditions;
  /** Opens the harness. Rejects with a Failure if something that the run needs is not available. */
  open(options: HarnessOptions): Promise<Harness>;
}
