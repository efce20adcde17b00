import type { Maintenance } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Confirm } from "../../ui/overlay/confirm.tsx";
import { Section } from "../../ui/page.tsx";
import { sanitize } from "../../ui/text/sanitize.ts";
import { hasRestrictions } from "./maintenance-labels.ts";
import { useMaintenance } from "./use-maintenance.ts";

/** Shows the active restrictions, who set them and when, and the number of unfinished runs. */
export function MaintenanceState({ maintenance }: { maintenance: Maintenance }) {
  const [isReleasing, setReleasing] = useState(false);
  const on = hasRestrictions(maintenance);
  return (
    <Section
      title="Maintenance"
      lead={on ? "Restrictions are active for all users." : "No active restrictions"}
      actions={
        on && (
          <Button variant="primary" onClick={() => setReleasing(true)}>
            End maintenance
          </Button>
        )
      }
    >
      <dl className="grid grid-cols-3 gap-x-3 gap-y-4 sm:gap-x-6">
        <Restriction
          label="New runs"
          isActive={maintenance.mode !== "normal" || maintenance.admission !== "open"}
          effect="Rejected"
        />
        <Restriction
          label="Queue"
          isActive={maintenance.mode !== "normal" || maintenance.queue !== "open"}
          effect="Paused"
        />
        <Restriction label="Changes" isActive={maintenance.mode !== "normal"} effect="Rejected" />
        <Count label="In progress" state="INPROGRESS" amount={maintenance.runs.in_progress} />
        <Count label="Queued" state="QUEUED" amount={maintenance.runs.queued} />
        <Count label="Needs input" state="BLOCKED" amount={maintenance.runs.blocked} />
      </dl>
      <ChangeNote maintenance={maintenance} />
      {isReleasing && <Release maintenance={maintenance} onClose={() => setReleasing(false)} />}
    </Section>
  );
}

function Restriction({ label, isActive, effect }: { label: string; isActive: boolean; effect: string }) {
  return (
    <div>
      <dt className="pb-1 text-xs text-muted">{label}</dt>
      <dd>{isActive ? <Badge tone="warn">{effect}</Badge> : <Badge tone="good">Normal</Badge>}</dd>
    </div>
  );
}

interface CountProps {
  label: string;
  state: string;
  amount: number;
}

function Count({ label, state, amount }: CountProps) {
  return (
    <div>
      <dt className="text-xs text-muted">{label}</dt>
      <dd className="tabular-nums">
        <Link
          to="/runs"
          search={{ state }}
          aria-label={`${amount} ${label.toLowerCase()}`}
          className="inline-flex min-h-7 items-center text-lg font-semibold underline-offset-2 hover:underline"
        >
          {amount}
        </Link>
      </dd>
    </div>
  );
}

function ChangeNote({ maintenance }: { maintenance: Maintenance }) {
  const { message, changed_at, changed_by } = maintenance;
  if (!changed_at) return null;
  return (
    <div className="mt-4 border-t border-line pt-3 text-muted">
      <p>
        {hasRestrictions(maintenance) ? "Set" : "Ended"} by {changed_by?.display_name ?? "unknown user"},{" "}
        <Time at={changed_at} />.
      </p>
      {message && (
        <p className="mt-1 break-words text-ink">
          <q>{sanitize(message)}</q>
        </p>
      )}
    </div>
  );
}

/** Asks for confirmation and shows who set the restrictions and why, because the reason may still apply. */
function Release({ maintenance, onClose }: { maintenance: Maintenance; onClose: () => void }) {
  const { mutate, isPending, error } = useMaintenance(onClose);
  return (
    <Confirm
      title="End maintenance?"
      action="End maintenance"
      variant="primary"
      busy={isPending}
      error={error}
      onConfirm={() => mutate({ request: {}, done: "Maintenance ended" })}
      onClose={onClose}
    >
      <p>
        Everything resumes immediately for all users: new runs and changes are accepted, and workers start
        queued runs.
      </p>
      <ChangeNote maintenance={maintenance} />
    </Confirm>
  );
}
