import type { Identity } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bot, Plus } from "lucide-react";
import { useState } from "react";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Page } from "../../ui/page.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { AgentMenu } from "./agent-menu.tsx";
import { AgentSheet } from "./agent-sheet.tsx";
import { DeleteAgent } from "./delete-agent.tsx";

type Open = { what: "new" } | { what: "edit" | "delete"; agent: Identity };

export function Agents() {
  const { data: me } = useQuery(queries.me());
  const { data, error, refetch } = useQuery(queries.identities());
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const create = (
    <Button
      variant="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => setOpen({ what: "new" })}
    >
      New cloud agent
    </Button>
  );
  return (
    <Page
      title="Cloud agents"
      lead="Identities for programs such as CI, bots and services. Each has its own keys and owns the runs it starts."
      actions={data && data.length > 0 && create}
    >
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading cloud agents" />
      ) : data.length === 0 ? (
        <EmptyState icon={<Bot className="size-5" aria-hidden />} title="No cloud agents yet" action={create}>
          Create one for each program that starts runs, and give it a key. You can then see its runs, limit
          its concurrency and revoke its access without affecting other keys.
        </EmptyState>
      ) : (
        <Table
          label="Cloud agents"
          head={
            <>
              <Th>Name</Th>
              <Th className="hidden md:table-cell">Model</Th>
              <Th className="hidden md:table-cell">Environment</Th>
              <Th className="hidden lg:table-cell">Concurrent runs</Th>
              <Th className="hidden md:table-cell">Keys</Th>
              <Th className="hidden sm:table-cell">Updated</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </>
          }
        >
          {data.map((agent) => (
            <AgentRow
              key={agent.uid}
              agent={agent}
              isOwn={agent.owner_uid === me?.uid}
              canEdit={agent.owner_uid === me?.uid || me?.role === "admin"}
              onEdit={() => setOpen({ what: "edit", agent })}
              onDelete={() => setOpen({ what: "delete", agent })}
            />
          ))}
        </Table>
      )}
      {open?.what === "new" && <AgentSheet onClose={close} />}
      {open?.what === "edit" && <AgentSheet agent={open.agent} onClose={close} />}
      {open?.what === "delete" && <DeleteAgent agent={open.agent} onClose={close} />}
    </Page>
  );
}

interface AgentRowProps {
  agent: Identity;
  isOwn: boolean;
  canEdit: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

function AgentRow({ agent, isOwn, canEdit, onEdit, onDelete }: AgentRowProps) {
  const { uid, name, description, model_id, environment_id, max_concurrent_runs, updated_at } = agent;
  const harness = useHarnessTitles()(agent.harness);
  const { data: environments } = useQuery(queries.environments());
  const environment = environments?.find((each) => each.environment_id === environment_id);
  return (
    <tr>
      <Td className="max-w-56 sm:max-w-xs">
        <p className="truncate font-medium">
          {name}
          {isOwn && <span className="ml-2 text-xs font-normal text-muted">yours</span>}
        </p>
        {description && <p className="truncate text-xs text-muted">{description}</p>}
      </Td>
      <Td className="hidden text-muted md:table-cell">
        {model_id ?? "Default"}
        {harness && <p className="text-xs">{harness}</p>}
      </Td>
      <Td className="hidden text-muted md:table-cell">
        {environment ? (
          <Link
            to="/environments/$environmentId"
            params={{ environmentId: environment.environment_id }}
            className="text-accent-ink underline"
          >
            {environment.name}
          </Link>
        ) : environment_id && environments ? (
          <span className="text-bad">Deleted; choose another</span>
        ) : (
          !environment_id && "None"
        )}
      </Td>
      <Td className="hidden text-muted lg:table-cell">{max_concurrent_runs ?? "No limit"}</Td>
      <Td className="hidden whitespace-nowrap text-muted md:table-cell">
        {canEdit && <KeyCount uid={uid} name={name} />}
      </Td>
      <Td className="hidden whitespace-nowrap text-muted sm:table-cell">
        <Time at={updated_at} />
      </Td>
      <Td className="text-right">
        <AgentMenu agent={agent} canEdit={canEdit} onEdit={onEdit} onDelete={onDelete} />
      </Td>
    </tr>
  );
}

/** Shows how many keys the cloud agent has, or a link to create the first one. */
function KeyCount({ uid, name }: { uid: string; name: string }) {
  const { data: keys } = useQuery(queries.keys());
  if (!keys) return null;
  const count = keys.filter(({ agent_uid }) => agent_uid === uid).length;
  return (
    <Link to="/keys" search={count ? {} : { agent: uid }} className="text-accent-ink underline">
      {count || "Create key"}
      <span className="sr-only"> for {name}</span>
    </Link>
  );
}
