import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { Harness, Worker } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatNames, reasonOf } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { Badge } from "../../ui/badge.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { formatCount } from "../../ui/format/numbers.ts";
import { Section } from "../../ui/page.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { InlineCode } from "../../ui/text/inline-code.tsx";
import { HarnessSetup } from "./harness-setup.tsx";
import { HarnessWorkers } from "./harness-workers.tsx";

/** Shows which harnesses runs can use, on which workers, and why not. */
export function Harnesses() {
  const { data, error, refetch } = useQuery(queries.harnesses());
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const { data: all } = useQuery({ ...queries.workers(), enabled: isAdmin });
  const workers = all?.filter(({ is_alive }) => is_alive);
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading harnesses" />;
  return (
    <>
      <p className="mb-4 text-muted">
        A harness is the agent program that executes a run. Outrider has its own, and runs other agents in the
        same sandboxes and with the same limits. Choose one when you start a run, or as the default of an
        environment or a cloud agent.
      </p>
      {workers?.length === 0 && (
        <p className="mb-4 rounded-lg border border-warn/40 bg-warn-soft p-4">
          No worker is connected, so runs wait in the queue.{" "}
          <Link to="/workers" className="text-accent-ink underline">
            Add a worker
          </Link>{" "}
          to see which harnesses it can use.
        </p>
      )}
      <Table
        label="Harnesses"
        head={
          <>
            <Th>Harness</Th>
            {isAdmin && <Th className="max-md:hidden">Workers</Th>}
          </>
        }
      >
        {data.map((harness) => (
          <HarnessRow key={harness.name} harness={harness} workers={isAdmin ? (workers ?? []) : undefined} />
        ))}
      </Table>
      {isAdmin && (
        <>
          <div className="h-6" />
          <Section
            title="Install and add harnesses"
            lead="Workers install agents from npm, never inside a sandbox. No provider key ever enters a sandbox."
          >
            <HarnessSetup />
          </Section>
        </>
      )}
    </>
  );
}

interface HarnessRowProps {
  harness: Harness;
  /** The connected workers, which only admins see. */
  workers: Worker[] | undefined;
}

function HarnessRow({ harness, workers }: HarnessRowProps) {
  const { name, title, available } = harness;
  const isExplained = workers?.some(({ harnesses = [] }) =>
    harnesses.some((report) => report.name === name && report.problem !== undefined),
  );
  return (
    <tr>
      <Td className="align-top">
        <div className="flex flex-wrap items-center gap-2">
          <span className="font-medium">{title}</span>
          <code className="font-mono text-xs text-muted">{name}</code>
          <Status harness={harness} />
        </div>
        {/* The list of workers shows their problems. */}
        {!available && !isExplained && (
          <p className="mt-0.5 text-xs break-words text-warn">
            <InlineCode text={sentence(reasonOf(harness))} />
          </p>
        )}
        <p className="mt-0.5 text-xs text-muted">{abilities(harness)}</p>
        {workers && (
          <div className="mt-2 md:hidden">
            <HarnessWorkers harness={harness} workers={workers} />
          </div>
        )}
      </Td>
      {workers && (
        <Td className="w-2/5 align-top max-md:hidden">
          <HarnessWorkers harness={harness} workers={workers} />
        </Td>
      )}
    </tr>
  );
}

function Status({ harness: { name, available, installed } }: { harness: Harness }) {
  if (name === DEFAULT_HARNESS) return <Badge tone="accent">Default</Badge>;
  if (!available) return <Badge tone="warn">Not available</Badge>;
  return installed ? <Badge tone="good">Installed</Badge> : <Badge>Installed on first use</Badge>;
}

function abilities(harness: Harness): string {
  const { name, models, supports_mcp_servers } = harness;
  const count =
    models.length === 1 ? "1 configured model" : `${formatCount(models.length)} configured models`;
  const works =
    name === DEFAULT_HARNESS
      ? "Works with every model."
      : `Works with ${models.length === 0 ? "no configured model" : count}; needs the ${formatNames(harness)} API.`;
  return supports_mcp_servers ? works : `${works} No MCP servers.`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
