import type { AgentEvent } from "@outrider/agent/event";
import { toolAttributes } from "@outrider/telemetry/gen-ai";
import { captureScope, type Span, startSpan } from "@outrider/telemetry/spans";

/** An agent that never reports the end of its calls must not fill the memory. */
const MAX_OPEN = 1_000;

/**
 * The spans of the tools that an agent in the sandbox runs by itself. They start and end with the events of the calls,
 * because the worker only hears of them. The names come from the sandbox, so only well-formed ones are used.
 */
export class AgentToolSpans {
  readonly #inScope = captureScope();
  readonly #open = new Map<string, Span>();

  observe(event: AgentEvent): void {
    if (event.type === "tool.called") {
      const { call_id: callId, tool } = event.data;
      if (this.#open.size >= MAX_OPEN) return;
      const name = /^[\w.:-]{1,64}$/.test(tool) ? tool : "other";
      const attributes = toolAttributes({ tool: name, callId });
      this.#open.set(
        callId,
        this.#inScope(() => startSpan(`execute_tool ${name}`, { attributes })),
      );
    } else if (event.type === "tool.returned") {
      const { call_id: callId, is_error } = event.data;
      const span = this.#open.get(callId);
      this.#open.delete(callId);
      if (is_error) span?.fail("tool_error");
      span?.end();
    }
  }

  /** Ends the spans of calls without a result. */
  close(): void {
    for (const span of this.#open.values()) span.end();
    this.#open.clear();
  }
}
