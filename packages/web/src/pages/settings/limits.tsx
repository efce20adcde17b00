import type { Installation } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { queries } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { type LimitLabel, limitGroups } from "./limit-labels.ts";

export function Limits() {
  const { data: installation, error, refetch } = useQuery(queries.installation());
  return (
    <>
      <p className="pb-4 text-muted">
        The limits of this installation. To change one, set its environment variable and restart the server.
        Runs, <InlineLink to="/environments">environments</InlineLink>,{" "}
        <InlineLink to="/agents">cloud agents</InlineLink> and <InlineLink to="/keys">keys</InlineLink> can
        have stricter limits.
      </p>
      {installation ? (
        <Groups installation={installation} />
      ) : error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows label="Loading limits" />
      )}
    </>
  );
}

function Groups({ installation }: { installation: Installation }) {
  return limitGroups(installation).map(({ title, limits }) => (
    <section key={title} className="mb-6">
      <h2 className="pb-2 font-semibold">{title}</h2>
      <Table
        label={`Limits: ${title}`}
        head={
          <>
            <Th>Limit</Th>
            <Th>Value</Th>
            <Th className="max-md:hidden">Environment variable</Th>
          </>
        }
      >
        {limits.map((limit) => (
          <LimitRow key={limit.what} limit={limit} />
        ))}
      </Table>
    </section>
  ));
}

function LimitRow({ limit: { what, value, note, variables } }: { limit: LimitLabel }) {
  const names: ReactNode = variables.map((name) => (
    <code key={name} className="block font-mono max-md:break-all md:whitespace-nowrap">
      {name}
    </code>
  ));
  return (
    <tr>
      <Td className="w-2/5 md:w-1/3">{what}</Td>
      <Td>
        {value}
        {note && <span className="block text-xs text-muted">{note}</span>}
        {variables.length > 0 && <span className="block text-[11px] text-muted md:hidden">{names}</span>}
      </Td>
      <Td className="text-xs text-muted max-md:hidden">{variables.length > 0 ? names : "Fixed"}</Td>
    </tr>
  );
}

function InlineLink({ to, children }: { to: "/environments" | "/agents" | "/keys"; children: string }) {
  return (
    <Link to={to} className="text-accent-ink underline underline-offset-2">
      {children}
    </Link>
  );
}
