import { Table, Td, Th } from "../../../ui/table.tsx";
import { durationWords } from "../../../ui/time.tsx";
import type { Bar } from "./bars.tsx";

interface TimelineTableProps {
  groups: readonly { title: string; bars: readonly Bar[] }[];
  start: number;
}

/** The same as the bars, in words and numbers. */
export function TimelineTable({ groups, start }: TimelineTableProps) {
  const head = (
    <>
      <Th>What</Th>
      <Th>Kind</Th>
      <Th className="text-right">Began after</Th>
      <Th className="text-right">Took</Th>
    </>
  );
  return (
    <Table label="Timeline as a table" head={head}>
      {groups.flatMap(({ title, bars }) =>
        bars.map(({ key, words, from, to }) => (
          <tr key={`${title} ${key}`}>
            <Td className="min-w-48 break-words">{words}</Td>
            <Td className="text-muted">{title}</Td>
            <Td className="whitespace-nowrap text-right tabular-nums">{durationWords(from - start)}</Td>
            <Td className="whitespace-nowrap text-right tabular-nums">{durationWords(to - from)}</Td>
          </tr>
        )),
      )}
    </Table>
  );
}
