import type { Installation } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { queries } from "../../queries.ts";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { type Bound, groupsOf } from "./limit-words.ts";

export function Limits() {
  const { data: installation, error, refetch } = useQuery(queries.installation());
  return (
    <>
      <p className="pb-4 text-muted">
        What this installation enforces, as it was started. Whoever runs the server changes it in its
        environment, by the names on the right. A run, an{" "}
        <InlineLink to="/environments">environment</InlineLink>, a{" "}
        <InlineLink to="/agents">cloud agent</InlineLink> or a <InlineLink to="/keys">key</InlineLink> can
        have tighter ones.
      </p>
      {installation ? (
        <Groups installation={installation} />
      ) : error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows label="Loading limits" />
      )}
    </>
  );
}

function Groups({ installation }: { installation: Installation }) {
  return groupsOf(installation).map(({ title, bounds }) => (
    <section key={title} className="mb-6">
      <h2 className="pb-2 font-semibold">{title}</h2>
      <Table
        label={`Limits: ${title}`}
        head={
          <>
            <Th>What</Th>
            <Th>Here</Th>
            <Th className="max-md:hidden">Set by</Th>
          </>
        }
      >
        {bounds.map((bound) => (
          <BoundRow key={bound.what} bound={bound} />
        ))}
      </Table>
    </section>
  ));
}

function BoundRow({ bound: { what, value, note, variables } }: { bound: Bound }) {
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
