import type { Worker } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { describeSandbox } from "../../sandboxes/describe-sandbox.ts";
import { SandboxControls } from "../../sandboxes/sandbox-controls.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { formatLabels } from "../../ui/form/worker-labels.ts";
import { formatBytes } from "../../ui/format/numbers.ts";
import { Time } from "../../ui/format/time.tsx";
import { Confirm } from "../../ui/overlay/confirm.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { Slots } from "./slots.tsx";
import { WorkerLoad } from "./worker-load.tsx";

export function WorkerTable({ label, workers }: { label: string; workers: Worker[] }) {
  const [selected, setSelected] = useState<Worker>();
  return (
    <>
      <Table
        label={label}
        head={
          <>
            <Th>Worker</Th>
            <Th className="max-sm:hidden">Slots</Th>
            <Th className="max-md:hidden">Current runs</Th>
            <Th className="max-sm:hidden">Last seen</Th>
            <Th>
              <span className="sr-only">Actions</span>
            </Th>
          </>
        }
      >
        {workers.map((worker) => (
          <tr key={worker.worker_id}>
            <Td className="align-top">
              <div className="flex flex-wrap items-center gap-2">
                <span className="font-medium break-all">{worker.name}</span>
                <WorkerState worker={worker} />
              </div>
              <div className="mt-0.5 text-xs text-muted">
                pool {worker.pool} · version {worker.version} · since <Time at={worker.first_seen_at} />
                {worker.sandbox !== undefined &&
                  ` · sandboxes: ${describeSandbox({ kind: worker.sandbox, ...worker.sandbox_engine })}`}
                {worker.disk_free_bytes !== undefined &&
                  ` · ${formatBytes(worker.disk_free_bytes)} disk free`}
              </div>
              {isRefusing(worker) && (
                <p className="mt-0.5 text-xs text-warn">
                  {worker.sandbox_engine
                    ? "Its engine or cluster does not respond, or its disk is nearly full."
                    : "Its disk is nearly full."}{" "}
                  It continues by itself. Its log says more.
                </p>
              )}
              <Labels worker={worker} />
              {worker.is_alive && worker.sandbox_controls && (
                <Disclosure summary="What its sandboxes enforce" className="text-xs">
                  <SandboxControls worker={worker} />
                </Disclosure>
              )}
              <div className="mt-2 sm:hidden">
                <Slots worker={worker} />
              </div>
              <div className="mt-2 md:hidden">
                <Runs worker={worker} />
              </div>
            </Td>
            <Td className="align-top max-sm:hidden">
              <Slots worker={worker} />
              {worker.is_alive && <WorkerLoad worker={worker} />}
            </Td>
            <Td className="w-2/5 align-top max-md:hidden">
              <Runs worker={worker} />
            </Td>
            <Td className="align-top whitespace-nowrap text-muted max-sm:hidden">
              <Time at={worker.last_seen_at} />
            </Td>
            <Td className="text-right align-top">
              {worker.is_alive && !worker.draining && (
                <Button aria-label={`Drain ${worker.name}`} onClick={() => setSelected(worker)}>
                  Drain
                </Button>
              )}
            </Td>
          </tr>
        ))}
      </Table>
      {selected && <Drain worker={selected} onClose={() => setSelected(undefined)} />}
    </>
  );
}

function Labels({ worker: { labels } }: { worker: Worker }) {
  const all = Object.entries(labels).sort(([a], [b]) => a.localeCompare(b, "en"));
  if (all.length === 0) return null;
  return (
    <ul aria-label="Labels" className="mt-1 flex flex-wrap gap-1">
      {all.map(([name, value]) => (
        <li key={name}>
          <Badge>{formatLabels({ [name]: value })}</Badge>
        </li>
      ))}
    </ul>
  );
}

const isRefusing = ({ is_alive, draining, accepts_runs }: Worker) =>
  is_alive && !draining && accepts_runs === false;

function WorkerState({ worker }: { worker: Worker }) {
  const { is_alive, draining, busy } = worker;
  if (!is_alive) return <Badge>Offline</Badge>;
  if (draining) return <Badge tone="warn">Draining</Badge>;
  if (isRefusing(worker)) return <Badge tone="warn">Not accepting runs</Badge>;
  return busy > 0 ? <Badge tone="live">Working</Badge> : <Badge tone="good">Ready</Badge>;
}

function Runs({ worker: { runs, busy } }: { worker: Worker }) {
  if (runs.length === 0) return <span className="text-muted">No runs</span>;
  return (
    <ul className="flex flex-col gap-1">
      {runs.map(({ run_id, title }) => (
        <li key={run_id} className="min-w-0">
          <Link
            to="/runs/$runId"
            params={{ runId: run_id }}
            className="line-clamp-1 break-all leading-6 text-accent-ink underline-offset-2 hover:underline max-md:leading-9"
          >
            {title}
          </Link>
        </li>
      ))}
      {busy > runs.length && <li className="text-muted">and {busy - runs.length} more</li>}
    </ul>
  );
}

function Drain({ worker, onClose }: { worker: Worker; onClose: () => void }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => outrider.workers.drain(worker.worker_id),
    async onSuccess() {
      await queryClient.invalidateQueries(queries.workers());
      showToast(`${worker.name} is draining`);
      onClose();
    },
  });
  return (
    <Confirm
      title={`Drain ${worker.name}?`}
      action="Drain worker"
      busy={isPending}
      error={error}
      onConfirm={() => mutate()}
      onClose={onClose}
    >
      <p>
        The worker accepts no new runs, finishes or hands over its current runs, and then exits. This cannot
        be undone: start the worker again to bring it back.
      </p>
    </Confirm>
  );
}
