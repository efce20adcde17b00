import type { Assignment } from "@outrider/contract/worker";
import type { Telemetry } from "@outrider/telemetry/telemetry";
import type { Db } from "../store/connection/db.ts";
import { type ClaimTrace, listClaimTraces, storeTurnTrace, type TurnTrace } from "../store/runs/traces.ts";

/**
 * Records how long claimed runs have waited, and adds the trace context to their assignments. The spans of all attempts at
 * a turn belong to the trace of the request that started the turn. A turn that no request has started, such as one for a
 * review comment, starts a trace with its wait.
 */
export async function traceClaims(
  { db, telemetry }: { db: Db; telemetry?: Telemetry | undefined },
  executions: Assignment[],
): Promise<Assignment[]> {
  if (!telemetry?.isTracing || executions.length === 0) return executions;
  const claims = await listClaimTraces(
    db,
    executions.map(({ execution_id }) => execution_id),
  );
  const traces = await Promise.all(
    claims.map(async (claim) => [claim.execution_id, await traceClaim(db, telemetry, claim)] as const),
  );
  const byId = new Map(traces);
  return executions.map((assignment) => {
    const trace = byId.get(assignment.execution_id);
    return trace ? { ...assignment, trace } : assignment;
  });
}

async function traceClaim(
  db: Db,
  { instrumentation }: Telemetry,
  { run_id, turn, attempt, trace, waiting_since, claimed_at }: ClaimTrace,
): Promise<Assignment["trace"]> {
  const current = trace?.turn === turn ? trace : undefined;
  const span = instrumentation.startSpan("queue", {
    parent: current,
    startedAt: new Date(waiting_since),
    attributes: { "outrider.run.id": run_id, "outrider.turn": turn, "outrider.attempt": attempt },
    links: !current && trace ? [trace] : [],
  });
  span.end(new Date(claimed_at));
  if (current) return assigned(current);
  const { context } = span;
  if (!context) return undefined;
  await storeTurnTrace(db, { run_id, turn, trace: context });
  return assigned({ ...context, turn, ...(trace ? { previous: trace.traceparent } : {}) });
}

function assigned({ turn: _, ...trace }: TurnTrace): Assignment["trace"] {
  return trace;
}
