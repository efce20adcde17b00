import { formatDuration } from "../../../ui/format/time.tsx";
import { Table, Td, Th } from "../../../ui/table.tsx";
import type { Bar } from "./bars.tsx";

interface TimelineTableProps {
  groups: readonly { title: string; bars: readonly Bar[] }[];
  start: number;
}

/** Shows the timeline as a table. */
export function TimelineTable({ groups, start }: TimelineTableProps) {
  const head = (
    <>
      <Th>Name</Th>
      <Th>Type</Th>
      <Th className="text-right">Started after</Th>
      <Th className="text-right">Duration</Th>
    </>
  );
  return (
    <Table label="Timeline as a table" head={head}>
      {groups.flatMap(({ title, bars }) =>
        bars.map(({ key, description, from, to }) => (
          <tr key={`${title} ${key}`}>
            <Td className="min-w-48 break-words">{description}</Td>
            <Td className="text-muted">{title}</Td>
            <Td className="whitespace-nowrap text-right tabular-nums">{formatDuration(from - start)}</Td>
            <Td className="whitespace-nowrap text-right tabular-nums">{formatDuration(to - from)}</Td>
          </tr>
        )),
      )}
    </Table>
  );
}
