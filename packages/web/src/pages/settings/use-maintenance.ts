import type { MaintenanceRequest } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";

interface Change {
  request: MaintenanceRequest;
  /** The message to show on success. */
  done: string;
}

/** Replaces the maintenance settings and updates the cached status. */
export function useMaintenance(onDone: () => void) {
  return useMutation({
    mutationFn: ({ request }: Change) => outrider.maintenance.set(request),
    onSuccess(maintenance, { done }) {
      // A running poll is cancelled, because it may return the old state.
      void queryClient.cancelQueries(queries.maintenance());
      queryClient.setQueryData(queries.maintenance().queryKey, maintenance);
      void queryClient.invalidateQueries(queries.installation());
      showToast(done);
      onDone();
    },
  });
}
