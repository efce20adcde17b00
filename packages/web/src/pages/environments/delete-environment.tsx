import { unfinishedStates } from "@outrider/contract/run-state";
import type { CloudEnvironment } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Confirm } from "../../ui/overlay/confirm.tsx";

interface DeleteEnvironmentProps {
  environment: CloudEnvironment;
  onClose: () => void;
}

const MAX_LISTED = 100;

/** Asks for confirmation and lists the cloud agents and unfinished runs that use the environment. */
export function DeleteEnvironment({ environment, onClose }: DeleteEnvironmentProps) {
  const { environment_id, name } = environment;
  const navigate = useNavigate();
  const { data: agents = [] } = useQuery(queries.identities());
  const { data: runs } = useQuery({
    queryKey: ["environments", environment_id, "unfinished"],
    queryFn: () =>
      outrider.runs.list({
        environment_id: [environment_id],
        state: [...unfinishedStates],
        limit: MAX_LISTED,
      }),
    staleTime: 0,
  });
  const users = agents.filter((agent) => agent.environment_id === environment_id);
  const deleting = useMutation({
    mutationFn: () => outrider.environments.delete(environment_id),
    onSuccess: async () => {
      showToast("Environment deleted");
      await navigate({ to: "/environments" });
      queryClient.removeQueries({ queryKey: ["environments", environment_id] });
      void queryClient.invalidateQueries({ queryKey: ["environments"] });
    },
  });
  const unfinished = runs?.items.length;
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete environment"
      busy={deleting.isPending}
      error={deleting.error}
      onConfirm={() => deleting.mutate()}
      onClose={onClose}
    >
      <p>New runs can no longer use it. Existing runs keep their files.</p>
      {users.length > 0 && (
        <p>
          {users.length === 1 ? "This cloud agent uses" : "These cloud agents use"} it by default and cannot
          start runs until you select another environment:{" "}
          <strong>{users.map((agent) => agent.name).join(", ")}</strong>.
        </p>
      )}
      <p className="text-muted">
        {unfinished === undefined
          ? "Checking for unfinished runs…"
          : unfinished === 0
            ? "No unfinished runs use it."
            : `${unfinished === MAX_LISTED ? `${MAX_LISTED} or more` : unfinished} unfinished ${unfinished === 1 ? "run uses" : "runs use"} it and will continue.`}
      </p>
    </Confirm>
  );
}
