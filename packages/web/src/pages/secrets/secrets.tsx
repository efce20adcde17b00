import type { CloudEnvironment, Secret } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Lock, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button, buttonClass, IconButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Page } from "../../ui/page.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
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
      variant="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => setOpen({ what: "add" })}
    >
      Add secret
    </Button>
  );
  return (
    <Page
      title="Secrets"
      lead="Values that runs need but people should not read. A saved value cannot be read back, here or through the API."
      actions={data && data.length > 0 && add}
    >
      {me && !isAdmin ? (
        <EmptyState
          icon={<Lock className="size-5" aria-hidden />}
          title="Only admins can manage secrets"
          action={
            <Link to="/environments" className={buttonClass()}>
              View environments
            </Link>
          }
        >
          Ask an admin to add a secret and to allow it in the environment that your runs use.
        </EmptyState>
      ) : error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading secrets" />
      ) : data.length === 0 ? (
        <EmptyState icon={<Lock className="size-5" aria-hidden />} title="No secrets yet" action={add}>
          Add a token or key, then reference it in an environment: to fetch a repository, or as a variable for
          its runs. Values are encrypted, and masked in everything that a run writes.
        </EmptyState>
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
            const usage = <Usage of={environmentsUsing(name, environments)} />;
            return (
              <tr key={name}>
                <Td>
                  <code className="break-all text-xs font-medium">{name}</code>
                  <div className="text-xs text-muted sm:hidden">used by {usage}</div>
                </Td>
                <Td className="hidden text-muted sm:table-cell">{usage}</Td>
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
          usage={environmentsUsing(open.secret.name, environments).map(({ name }) => name)}
          onClose={close}
        />
      )}
    </Page>
  );
}

function environmentsUsing(name: string, environments: CloudEnvironment[]): CloudEnvironment[] {
  return environments.filter(
    ({ secrets, repos }) => secrets.includes(name) || repos.some(({ secret }) => secret === name),
  );
}

function Usage({ of }: { of: CloudEnvironment[] }) {
  if (of.length === 0) return "no environment";
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
