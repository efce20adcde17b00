import type { CloudAgent } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bot, Plus } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { AgentMenu } from "./agent-menu.tsx";
import { AgentSheet } from "./agent-sheet.tsx";
import { DeleteAgent } from "./delete-agent.tsx";

type Open = { what: "new" } | { what: "edit" | "delete"; agent: CloudAgent };

export function Agents() {
  const { data: me } = useQuery(queries.me());
  const { data, error, refetch } = useQuery(queries.identities());
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const create = (
    <Button
      look="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => setOpen({ what: "new" })}
    >
      New cloud agent
    </Button>
  );
  return (
    <Page
      title="Cloud agents"
      lead="Identities that are not people: CI, a bot, a service. Each has keys of its own, and owns the runs it starts."
      actions={data && data.length > 0 && create}
    >
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading cloud agents" />
      ) : data.length === 0 ? (
        <Empty icon={<Bot className="size-5" aria-hidden />} title="No cloud agents yet" action={create}>
          Make one for each program that starts runs, give it a key, and you will see which runs are its own,
          hold it to a number of runs at once, and shut it out without touching anybody else's key.
        </Empty>
      ) : (
        <Table
          label="Cloud agents"
          head={
            <>
              <Th>Name</Th>
              <Th className="hidden md:table-cell">Model</Th>
              <Th className="hidden md:table-cell">Environment</Th>
              <Th className="hidden lg:table-cell">Runs at once</Th>
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
              mayChange={agent.owner_uid === me?.uid || me?.role === "admin"}
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
  agent: CloudAgent;
  isOwn: boolean;
  mayChange: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

function AgentRow({ agent, isOwn, mayChange, onEdit, onDelete }: AgentRowProps) {
  const { uid, name, description, model_id, environment_id, max_concurrent_runs, updated_at } = agent;
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
      <Td className="hidden text-muted md:table-cell">{model_id ?? "default"}</Td>
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
          <span className="text-bad">deleted: choose another</span>
        ) : (
          !environment_id && "none"
        )}
      </Td>
      <Td className="hidden text-muted lg:table-cell">{max_concurrent_runs ?? "no limit"}</Td>
      <Td className="hidden whitespace-nowrap text-muted md:table-cell">
        {mayChange && <KeyCount uid={uid} name={name} />}
      </Td>
      <Td className="hidden whitespace-nowrap text-muted sm:table-cell">
        <Time at={updated_at} />
      </Td>
      <Td className="text-right">
        <AgentMenu agent={agent} mayChange={mayChange} onEdit={onEdit} onDelete={onDelete} />
      </Td>
    </tr>
  );
}

/** Without a key it cannot do anything: then the way to one stands here. */
function KeyCount({ uid, name }: { uid: string; name: string }) {
  const { data: keys } = useQuery(queries.keys());
  if (!keys) return null;
  const count = keys.filter(({ agent_uid }) => agent_uid === uid).length;
  return (
    <Link to="/keys" search={count ? {} : { agent: uid }} className="text-accent-ink underline">
      {count || "Make one"}
      <span className="sr-only"> for {name}</span>
    </Link>
  );
}
