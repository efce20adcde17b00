import type { Assignment, WorkerInfo } from "@outrider/contract/worker";
import { endWith, runInScope } from "@outrider/telemetry/spans";
import type { Telemetry } from "@outrider/telemetry/telemetry";

/** Calls `work` in the span of an execution, which all spans of this attempt are part of. */
export function inExecutionSpan<T>(
  telemetry: Telemetry | undefined,
  { assignment, worker }: { assignment: Assignment; worker: WorkerInfo },
  work: () => Promise<T>,
): Promise<T> {
  if (!telemetry) return work();
  const { run_id, turn, attempt, trace, environment, harness } = assignment;
  const { instrumentation } = telemetry;
  const span = instrumentation.startSpan("execute run", {
    kind: "consumer",
    parent: trace,
    links: trace?.previous ? [{ traceparent: trace.previous }] : [],
    attributes: {
      "outrider.run.id": run_id,
      "outrider.turn": turn,
      "outrider.attempt": attempt,
      "outrider.worker.id": worker.worker_id,
      "outrider.worker.name": worker.name,
      "outrider.has_environment": environment !== undefined,
      "outrider.harness": harness?.name ?? "outrider",
    },
  });
  return endWith(span, () => runInScope(instrumentation, span, work));
}
