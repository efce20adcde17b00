import type { CloudEnvironment, Secret } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Lock, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { DeleteSecret } from "./delete-secret.tsx";
import { PutSecret } from "./put-secret.tsx";

type Open = { what: "add" } | { what: "replace" | "delete"; secret: Secret };

export function Secrets() {
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const { data, error, refetch } = useQuery({ ...queries.secrets(), enabled: isAdmin });
  const { data: environments = [] } = useQuery(queries.environments());
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const add = (
    <Button
      look="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => setOpen({ what: "add" })}
    >
      Add secret
    </Button>
  );
  return (
    <Page
      title="Secrets"
      lead="Values that runs need and nobody should read. They go in and never come out again: not here, not by the API."
      actions={data && data.length > 0 && add}
    >
      {me && !isAdmin ? (
        <Empty icon={<Lock className="size-5" aria-hidden />} title="Administrators keep the secrets">
          Ask one of them to store a value, and to give it to the environment that your runs use.
        </Empty>
      ) : error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading secrets" />
      ) : data.length === 0 ? (
        <Empty icon={<Lock className="size-5" aria-hidden />} title="No secrets yet" action={add}>
          Store a token or a key here, then name it in an environment: for fetching a repository, or as a
          variable of its runs. Values are encrypted, and masked in everything that a run writes.
        </Empty>
      ) : (
        <Table
          label="Secrets"
          head={
            <>
              <Th>Name</Th>
              <Th className="hidden sm:table-cell">Used by</Th>
              <Th className="hidden sm:table-cell">Updated</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </>
          }
        >
          {data.map((secret) => {
            const { name, updated_at } = secret;
            const users = <Users of={usersOf(name, environments)} />;
            return (
              <tr key={name}>
                <Td>
                  <code className="break-all text-xs font-medium">{name}</code>
                  <div className="text-xs text-muted sm:hidden">used by {users}</div>
                </Td>
                <Td className="hidden text-muted sm:table-cell">{users}</Td>
                <Td className="hidden whitespace-nowrap text-muted sm:table-cell">
                  <Time at={updated_at} />
                </Td>
                <Td className="whitespace-nowrap text-right">
                  <IconButton
                    label={`Replace ${name}`}
                    icon={<RefreshCw className="size-4" aria-hidden />}
                    onClick={() => setOpen({ what: "replace", secret })}
                  />
                  <IconButton
                    label={`Delete ${name}`}
                    icon={<Trash2 className="size-4" aria-hidden />}
                    onClick={() => setOpen({ what: "delete", secret })}
                  />
                </Td>
              </tr>
            );
          })}
        </Table>
      )}
      {open?.what === "add" && <PutSecret taken={(data ?? []).map(({ name }) => name)} onClose={close} />}
      {open?.what === "replace" && <PutSecret name={open.secret.name} taken={[]} onClose={close} />}
      {open?.what === "delete" && (
        <DeleteSecret
          name={open.secret.name}
          users={usersOf(open.secret.name, environments).map(({ name }) => name)}
          onClose={close}
        />
      )}
    </Page>
  );
}

function usersOf(name: string, environments: CloudEnvironment[]): CloudEnvironment[] {
  return environments.filter(
    ({ secrets, repos }) => secrets.includes(name) || repos.some(({ secret }) => secret === name),
  );
}

function Users({ of }: { of: CloudEnvironment[] }) {
  if (of.length === 0) return "nothing yet";
  return of.map(({ environment_id, name }, index) => (
    <span key={environment_id}>
      {index > 0 && ", "}
      <Link
        to="/environments/$environmentId"
        params={{ environmentId: environment_id }}
        className="text-accent-ink underline"
      >
        {name}
      </Link>
    </span>
  ));
}
