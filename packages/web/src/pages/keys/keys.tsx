import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { Page } from "../../ui/page.tsx";
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
  const newKeyButton = (
    <Button
      variant="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => void navigate({ search: (old) => ({ ...old, new: "personal" }) })}
    >
      New key
    </Button>
  );
  return (
    <Page
      title="Keys"
      lead="Programs, cloud agents and workers authenticate with keys. A key is shown once and can be revoked at any time."
      actions={newKeyButton}
    >
      {isAdmin && (
        <div className="pb-3">
          <SegmentedControl
            label="Owner"
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
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !shown ? (
        <SkeletonRows label="Loading keys" />
      ) : shown.length === 0 ? (
        <EmptyState
          icon={<KeyRound className="size-5" aria-hidden />}
          title="No keys yet"
          action={newKeyButton}
        >
          A personal key lets your scripts and CI create runs as you. An agent key acts as a cloud agent.
        </EmptyState>
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
