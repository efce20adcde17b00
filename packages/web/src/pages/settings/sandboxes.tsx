import type { Worker } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { describeSandbox } from "../../sandboxes/describe-sandbox.ts";
import { SandboxControls } from "../../sandboxes/sandbox-controls.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";

/** An installation may have hundreds of workers, most of them alike. */
const MAX_NAMES = 10;

/** Shows the kinds of sandboxes of the connected workers. Workers that are alike share a row. */
export function Sandboxes() {
  const { data: workers, error, refetch } = useQuery(queries.workers());
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!workers) return <SkeletonRows label="Loading workers" />;
  const groups = Map.groupBy(
    workers.filter(({ is_alive, sandbox }) => is_alive && sandbox !== undefined),
    ({ sandbox, sandbox_engine, sandbox_controls }) =>
      JSON.stringify([sandbox, sandbox_engine, sandbox_controls]),
  );
  if (groups.size === 0) return <p className="text-muted">No connected worker reports its sandboxes.</p>;
  return (
    <Table
      label="Kinds of sandboxes"
      head={
        <>
          <Th>Sandboxes</Th>
          <Th>Workers</Th>
          <Th className="max-sm:hidden">Enforced</Th>
        </>
      }
    >
      {[...groups].map(([key, group]) => (
        <Row key={key} workers={group} />
      ))}
    </Table>
  );
}

function Row({ workers }: { workers: Worker[] }) {
  const [worker] = workers;
  if (!worker) return null;
  const names = workers.slice(0, MAX_NAMES).map(({ name }) => sanitizeLine(name));
  return (
    <tr>
      <Td className="align-top font-medium">
        {describeSandbox({ kind: worker.sandbox ?? "", ...worker.sandbox_engine })}
        <div className="mt-2 font-normal sm:hidden">
          <SandboxControls worker={worker} />
        </div>
      </Td>
      <Td className="align-top break-all">
        {names.join(", ")}
        {workers.length > MAX_NAMES && ` and ${workers.length - MAX_NAMES} more`}
      </Td>
      <Td className="align-top max-sm:hidden">
        <SandboxControls worker={worker} />
      </Td>
    </tr>
  );
}
