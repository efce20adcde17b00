import type { Brake } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Section } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { visible } from "../../ui/visible.ts";
import { isOn } from "./brake-words.ts";
import { useBrake } from "./use-brake.ts";

/** What is stopped, since when and by whom, and what is still under way. */
export function BrakeState({ brake }: { brake: Brake }) {
  const [isReleasing, setReleasing] = useState(false);
  const on = isOn(brake);
  return (
    <Section
      title="The brake"
      lead={on ? "Something is stopped, for everybody." : "Nothing is stopped."}
      actions={
        on && (
          <Button look="primary" onClick={() => setReleasing(true)}>
            Release
          </Button>
        )
      }
    >
      <dl className="grid grid-cols-3 gap-x-3 gap-y-4 sm:gap-x-6">
        <Gate label="New runs" isOpen={brake.mode === "normal" && brake.intake === "open"} shut="Refused" />
        <Gate label="Queue" isOpen={brake.mode === "normal" && brake.queue === "open"} shut="Held" />
        <Gate label="Changes" isOpen={brake.mode === "normal"} shut="Refused" />
        <Count label="In progress" state="INPROGRESS" amount={brake.runs.in_progress} />
        <Count label="Queued" state="QUEUED" amount={brake.runs.queued} />
        <Count label="Waiting for an answer" state="BLOCKED" amount={brake.runs.blocked} />
      </dl>
      <ChangeNote brake={brake} />
      {isReleasing && <Release brake={brake} onClose={() => setReleasing(false)} />}
    </Section>
  );
}

function Gate({ label, isOpen, shut }: { label: string; isOpen: boolean; shut: string }) {
  return (
    <div>
      <dt className="pb-1 text-xs text-muted">{label}</dt>
      <dd>{isOpen ? <Badge tone="good">As always</Badge> : <Badge tone="warn">{shut}</Badge>}</dd>
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

function ChangeNote({ brake }: { brake: Brake }) {
  const { message, changed_at, changed_by } = brake;
  if (!changed_at) return null;
  return (
    <div className="mt-4 border-t border-line pt-3 text-muted">
      <p>
        {isOn(brake) ? "Set" : "Released"} by {changed_by?.display_name ?? "somebody"},{" "}
        <Time at={changed_at} />.
      </p>
      {message && (
        <p className="mt-1 break-words text-ink">
          <q>{visible(message)}</q>
        </p>
      )}
    </div>
  );
}

/** Somebody else may have set it, for a reason that still holds: it is asked with their name and words. */
function Release({ brake, onClose }: { brake: Brake; onClose: () => void }) {
  const { mutate, isPending, error } = useBrake(onClose);
  return (
    <Confirm
      title="Release the brake?"
      action="Release"
      look="primary"
      cancel="Leave it"
      busy={isPending}
      error={error}
      onConfirm={() => mutate({ request: {}, done: "The brake is released" })}
      onClose={onClose}
    >
      <p>
        Everything goes on at once, for everybody: new runs and changes are taken, and workers begin with what
        waits.
      </p>
      <ChangeNote brake={brake} />
    </Confirm>
  );
}
