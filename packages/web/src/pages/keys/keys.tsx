import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Choice } from "../../ui/choice.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { KeyTable } from "./key-table.tsx";
import { NewKey } from "./new-key.tsx";
import { useOwners } from "./owners.ts";

const route = getRouteApi("/frame/keys");

export function Keys() {
  const { show = "all", agent, new: kind } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: me } = useQuery(queries.me());
  const { data: keys, error, refetch } = useQuery(queries.keys());
  const owners = useOwners();
  const isAdmin = me?.role === "admin";
  const opened = kind ?? (agent ? "agent" : undefined);
  const shown = keys?.filter((key) => show === "all" || !isAdmin || owners.isMine(key));
  const make = (
    <Button
      look="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => void navigate({ search: (old) => ({ ...old, new: "personal" }) })}
    >
      New key
    </Button>
  );
  return (
    <Page
      title="Keys"
      lead="Programs, cloud agents and workers come in with a key. Each is shown once and can be revoked at any time."
      actions={make}
    >
      {isAdmin && (
        <div className="pb-3">
          <Choice
            label="Whose keys"
            value={show}
            options={[
              { value: "all", label: "All" },
              { value: "mine", label: "Mine" },
            ]}
            onChange={(value) =>
              void navigate({ search: value === "mine" ? { show: "mine" } : {}, replace: true })
            }
          />
        </div>
      )}
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !shown ? (
        <SkeletonRows label="Loading keys" />
      ) : shown.length === 0 ? (
        <Empty icon={<KeyRound className="size-5" aria-hidden />} title="No keys yet" action={make}>
          A personal key lets your scripts and your CI create runs as you. An agent key speaks for a cloud
          agent.
        </Empty>
      ) : (
        <KeyTable keys={shown} owners={owners} />
      )}
      {opened && (
        <NewKey
          type={opened}
          agentUid={agent}
          onClose={() => void navigate({ search: show === "mine" ? { show } : {}, replace: true })}
        />
      )}
    </Page>
  );
}
