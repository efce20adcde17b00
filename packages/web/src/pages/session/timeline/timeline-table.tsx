import { useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { formatCount } from "../../../ui/format/numbers.ts";
import { formatDuration } from "../../../ui/format/time.tsx";
import { Table, Td, Th } from "../../../ui/table.tsx";
import type { Bar } from "./bars.tsx";

interface TimelineTableProps {
  groups: readonly { title: string; bars: readonly Bar[] }[];
  start: number;
}

const PAGE = 500;

/** Shows the timeline as a table, one page after the other. */
export function TimelineTable({ groups, start }: TimelineTableProps) {
  const [shown, setShown] = useState(PAGE);
  const rows = groups.flatMap(({ title, bars }) => bars.map((bar) => ({ title, bar })));
  const head = (
    <>
      <Th>Name</Th>
      <Th>Type</Th>
      <Th className="text-right">Started after</Th>
      <Th className="text-right">Duration</Th>
    </>
  );
  return (
    <>
      <Table label="Timeline as a table" head={head}>
        {rows.slice(0, shown).map(({ title, bar: { key, description, from, to } }) => (
          <tr key={`${title} ${key}`}>
            <Td className="min-w-48 break-words">{description}</Td>
            <Td className="text-muted">{title}</Td>
            <Td className="whitespace-nowrap text-right tabular-nums">{formatDuration(from - start)}</Td>
            <Td className="whitespace-nowrap text-right tabular-nums">{formatDuration(to - from)}</Td>
          </tr>
        ))}
      </Table>
      {rows.length > shown && (
        <Button className="mt-3" onClick={() => setShown(shown + PAGE)}>
          Show more ({formatCount(rows.length - shown)} left)
        </Button>
      )}
    </>
  );
}
