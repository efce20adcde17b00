import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { useNow } from "../../../ui/format/clock.ts";
import { formatCount } from "../../../ui/format/numbers.ts";
import { formatDuration } from "../../../ui/format/time.tsx";
import { Section } from "../../../ui/page.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";
import type { LogView } from "../log/log-view.ts";
import { Axis, type Bar, Bars } from "./bars.tsx";
import { type TimedCommand, useCommands } from "./commands.ts";
import { type Phase, type PhaseKind, phasesOf, type Step, stepsOf } from "./phases.ts";
import { TimelineTable } from "./timeline-table.tsx";

const kinds: Record<PhaseKind, { label: string; color: string }> = {
  queued: { label: "Queued", color: "bg-line-strong" },
  preparing: { label: "Preparing", color: "bg-accent" },
  working: { label: "Working", color: "bg-live" },
  recovering: { label: "Recovering", color: "bg-warn" },
  blocked: { label: "Waiting for input", color: "bg-warn" },
};

/** Shows how the run spent its time: phases, preparation steps and commands. */
export function Timeline({ run, log }: { run: RunItem; log: LogView }) {
  const phases = useMemo(() => phasesOf(log.milestones), [log.milestones]);
  const steps = useMemo(() => stepsOf(log.milestones), [log.milestones]);
  const scan = useCommands(log);
  const [isTable, setIsTable] = useState(false);
  const now = useNow(!isFinal(run.state));
  const first = phases[0];
  if (!first) return <SkeletonRows label="Loading timeline" />;
  const end = isFinal(run.state) ? (phases.at(-1)?.to ?? now) : Math.max(now, phases.at(-1)?.from ?? 0);
  const span = { from: first.from, to: end };
  const several = phases.some(({ turn, attempt }) => turn > 1 || attempt > 1);
  const phaseBars = phases.map((phase) => phaseBar(phase, { end, several }));
  const stepBars = steps.map((step) => stepBar(step, end));
  const commandBars = (scan?.commands ?? []).map((command) => commandBar(command, end));
  const groups = [
    { title: "Phases", bars: phaseBars },
    { title: "Preparing", bars: stepBars },
    { title: "Commands", bars: commandBars },
  ].filter(({ bars }) => bars.length > 0);
  const left = scan ? scan.total - scan.commands.length : 0;
  return (
    <Section
      title={`${formatDuration(end - first.from)} total`}
      actions={
        <Button aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          {isTable ? "Show as bars" : "Show as table"}
        </Button>
      }
    >
      {isTable ? (
        <TimelineTable groups={groups} start={first.from} />
      ) : (
        <>
          <Axis span={span} />
          {groups.map(({ title, bars }) => (
            <div key={title} className="pb-4">
              <h3 className="px-2 pb-1 text-xs font-medium text-muted">{title}</h3>
              <Bars bars={bars} span={span} label={title} />
            </div>
          ))}
        </>
      )}
      {!scan && <SkeletonRows rows={2} label="Loading commands" />}
      {left > 0 && (
        <p className="px-2 text-xs text-muted">{formatCount(left)} more commands are in the transcript.</p>
      )}
    </Section>
  );
}

function phaseBar(phase: Phase, { end, several }: { end: number; several: boolean }): Bar {
  const { label, color } = kinds[phase.kind];
  const where = several
    ? ` · turn ${phase.turn}${phase.attempt > 1 ? `, attempt ${phase.attempt}` : ""}`
    : "";
  return {
    key: `${phase.kind} ${phase.from} ${phase.turn}`,
    label: label + where,
    description: label + where + (phase.to === undefined ? ", ongoing" : ""),
    from: phase.from,
    to: phase.to ?? end,
    color,
  };
}

function stepBar({ name, from, to, failed }: Step, end: number): Bar {
  return {
    key: `${name} ${from}`,
    label: sanitize(name),
    description: `${sanitize(name)}${failed ? ", failed" : to === undefined ? ", ongoing" : ""}`,
    from,
    to: to ?? end,
    color: failed ? "bg-bad" : "bg-accent",
  };
}

function commandBar({ id, command, from, to, exit, failed, seq }: TimedCommand, end: number): Bar {
  const outcome = to === undefined ? "still running" : exit === undefined ? "killed" : `exit ${exit}`;
  return {
    key: `${id} ${seq}`,
    label: (
      <Link
        to="."
        search={{}}
        hash={`e-${seq}`}
        activeOptions={{ includeHash: true }}
        className="block truncate font-mono leading-6 hover:underline"
      >
        {sanitize(command)}
      </Link>
    ),
    description: `${sanitize(command)}, ${outcome}`,
    from,
    to: to ?? end,
    color: failed ? "bg-bad" : to === undefined ? "bg-live" : "bg-good",
  };
}
