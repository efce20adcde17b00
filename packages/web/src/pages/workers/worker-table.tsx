import type { Worker } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { bytes } from "../../ui/amount.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { Slots } from "./slots.tsx";

export function WorkerTable({ label, workers }: { label: string; workers: Worker[] }) {
  const [leaving, setLeaving] = useState<Worker>();
  return (
    <>
      <Table
        label={label}
        head={
          <>
            <Th>Worker</Th>
            <Th className="max-sm:hidden">Slots</Th>
            <Th className="max-md:hidden">At work on</Th>
            <Th className="max-sm:hidden">Last heard</Th>
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
                version {worker.version} · since <Time at={worker.first_seen_at} />
                {worker.disk_free_bytes !== undefined && ` · ${bytes(worker.disk_free_bytes)} of disk free`}
              </div>
              <div className="mt-2 sm:hidden">
                <Slots worker={worker} />
              </div>
              <div className="mt-2 md:hidden">
                <Runs worker={worker} />
              </div>
            </Td>
            <Td className="align-top max-sm:hidden">
              <Slots worker={worker} />
            </Td>
            <Td className="w-2/5 align-top max-md:hidden">
              <Runs worker={worker} />
            </Td>
            <Td className="align-top whitespace-nowrap text-muted max-sm:hidden">
              <Time at={worker.last_seen_at} />
            </Td>
            <Td className="text-right align-top">
              {worker.is_alive && !worker.draining && (
                <Button aria-label={`Drain ${worker.name}`} onClick={() => setLeaving(worker)}>
                  Drain
                </Button>
              )}
            </Td>
          </tr>
        ))}
      </Table>
      {leaving && <Drain worker={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  );
}

function WorkerState({ worker: { is_alive, draining, busy } }: { worker: Worker }) {
  if (!is_alive) return <Badge>Gone</Badge>;
  if (draining) return <Badge tone="warn">Draining</Badge>;
  return busy > 0 ? <Badge tone="live">Working</Badge> : <Badge tone="good">Ready</Badge>;
}

function Runs({ worker: { runs, busy } }: { worker: Worker }) {
  if (runs.length === 0) return <span className="text-muted">Nothing</span>;
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
      announce(`${worker.name} takes nothing new`);
      onClose();
    },
  });
  return (
    <Confirm
      title={`Drain ${worker.name}?`}
      action="Drain"
      busy={isPending}
      error={error}
      onConfirm={() => mutate()}
      onClose={onClose}
    >
      <p>
        It finishes what it has or hands it to another worker, takes nothing new, and then its process ends.
        This cannot be undone: to have it back, start it again.
      </p>
    </Confirm>
  );
}
