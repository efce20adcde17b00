import type { BrakeRequest } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";

interface Change {
  request: BrakeRequest;
  /** What to say when it holds. */
  done: string;
}

/** Sets the whole of the brake. Every page of this browser that shows it knows at once. */
export function useBrake(onDone: () => void) {
  return useMutation({
    mutationFn: ({ request }: Change) => outrider.brake.set(request),
    onSuccess(brake, { done }) {
      // A look that is under way may have read what stood before.
      void queryClient.cancelQueries(queries.brake());
      queryClient.setQueryData(queries.brake().queryKey, brake);
      void queryClient.invalidateQueries(queries.installation());
      announce(done);
      onDone();
    },
  });
}
