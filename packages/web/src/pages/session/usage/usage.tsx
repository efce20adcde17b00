import type { RunUsage } from "@outrider/sdk";
import { ChartLine } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { Select } from "../../../ui/form/field.tsx";
import { formatCount, formatDollars } from "../../../ui/format/numbers.ts";
import { exactTime, formatDuration } from "../../../ui/format/time.tsx";
import { Section } from "../../../ui/page.tsx";
import { Table, Td, Th } from "../../../ui/table.tsx";
import type { LogView } from "../log/log-view.ts";
import { TranscriptLink } from "../transcript-link.tsx";
import { Chart } from "./chart.tsx";
import { turnsOf } from "./turns.ts";

interface Measure {
  name: string;
  of: (usage: RunUsage) => number;
  show: (value: number) => string;
}

const measures: Measure[] = [
  { name: "Cost", of: (usage) => usage.cost_usd, show: formatDollars },
  { name: "Input tokens", of: (usage) => usage.input_tokens, show: formatCount },
  { name: "Cached input", of: (usage) => usage.cached_input_tokens, show: formatCount },
  { name: "Output tokens", of: (usage) => usage.output_tokens, show: formatCount },
  { name: "Steps", of: (usage) => usage.steps, show: formatCount },
  { name: "Working time", of: (usage) => usage.run_seconds * 1_000, show: formatDuration },
];

/** Shows the run's usage per turn and over time. */
export function Usage({ usage, log }: { usage: RunUsage; log: LogView }) {
  const turns = useMemo(
    () => turnsOf(log.usage, { milestones: log.milestones, total: usage }),
    [log.usage, log.milestones, usage],
  );
  if (usage.steps === 0 && log.usage.length === 0) {
    return (
      <EmptyState
        icon={<ChartLine className="size-5" aria-hidden />}
        title="No usage yet"
        action={<TranscriptLink />}
      >
        Tokens, cost and steps appear here after the agent's first step.
      </EmptyState>
    );
  }
  const head = (
    <>
      <Th>Turn</Th>
      {measures.map(({ name }) => (
        <Th key={name} className="text-right">
          {name}
        </Th>
      ))}
    </>
  );
  const row = (name: string, of: RunUsage) => (
    <tr key={name}>
      <Td className="whitespace-nowrap">{name}</Td>
      {measures.map((measure) => (
        <Td key={measure.name} className="whitespace-nowrap text-right tabular-nums">
          {measure.show(measure.of(of))}
        </Td>
      ))}
    </tr>
  );
  return (
    <div className="flex flex-col gap-6">
      <Table label="Usage per turn" head={head}>
        {turns.map(({ turn, usage: used }) => row(`Turn ${turn}`, used))}
        {turns.length > 1 && row("Total", usage)}
      </Table>
      {log.usage.length > 0 && <Growth log={log} />}
    </div>
  );
}

function Growth({ log }: { log: LogView }) {
  const [name, setName] = useState("Input tokens");
  const [isTable, setIsTable] = useState(false);
  const measure = measures.find((one) => one.name === name) ?? (measures[0] as Measure);
  const points = log.usage.map(({ at, usage }) => ({ at: Date.parse(at), value: measure.of(usage) }));
  return (
    <Section
      title="Over time"
      actions={
        <div className="flex flex-wrap gap-2 max-sm:w-full">
          <Select
            aria-label="Metric"
            value={name}
            onChange={({ target }) => setName(target.value)}
            className="w-auto!"
          >
            {measures.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </Select>
          <Button aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
            {isTable ? "Show as chart" : "Show as table"}
          </Button>
        </div>
      }
    >
      {isTable ? (
        <Table
          label={`${name} over time`}
          head={
            <>
              <Th>Time</Th>
              <Th className="text-right">{name}</Th>
            </>
          }
        >
          {log.usage.map(({ at, usage }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two steps may end in the same millisecond.
            <tr key={index}>
              <Td className="whitespace-nowrap">{exactTime(at)}</Td>
              <Td className="text-right tabular-nums">{measure.show(measure.of(usage))}</Td>
            </tr>
          ))}
        </Table>
      ) : (
        <Chart points={points} title={name} show={measure.show} />
      )}
    </Section>
  );
}
