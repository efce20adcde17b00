import type { CloudEnvironment } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Confirm } from "../../ui/confirm.tsx";

interface DeleteEnvironmentProps {
  environment: CloudEnvironment;
  onClose: () => void;
}

const LOOKED_AT = 100;

/** Says what uses it before it goes: cloud agents that name it, and runs that are not finished. */
export function DeleteEnvironment({ environment, onClose }: DeleteEnvironmentProps) {
  const { environment_id, name } = environment;
  const navigate = useNavigate();
  const { data: agents = [] } = useQuery(queries.identities());
  const { data: runs } = useQuery({
    queryKey: ["environments", environment_id, "unfinished"],
    queryFn: () =>
      outrider.runs.list({
        environment_id: [environment_id],
        state: ["QUEUED", "INPROGRESS", "BLOCKED"],
        limit: LOOKED_AT,
      }),
    staleTime: 0,
  });
  const users = agents.filter((agent) => agent.environment_id === environment_id);
  const deleting = useMutation({
    mutationFn: () => outrider.environments.delete(environment_id),
    onSuccess: async () => {
      announce(`${name} is deleted`);
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
      <p>New runs can no longer name it. Runs that already began in it keep their files.</p>
      {users.length > 0 && (
        <p>
          {users.length === 1 ? "This cloud agent starts" : "These cloud agents start"} its runs in it, and
          will be refused until it is given another:{" "}
          <strong>{users.map((agent) => agent.name).join(", ")}</strong>.
        </p>
      )}
      <p className="text-muted">
        {unfinished === undefined
          ? "Looking for runs that are not finished…"
          : unfinished === 0
            ? "No unfinished run uses it."
            : `${unfinished === LOOKED_AT ? `${LOOKED_AT} or more` : unfinished} unfinished ${unfinished === 1 ? "run uses" : "runs use"} it; they go on.`}
      </p>
    </Confirm>
  );
}
