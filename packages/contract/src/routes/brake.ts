import { Brake, BrakeRequest, CancelRunsRequest, CancelRunsResponse } from "../brake.ts";
import { route } from "../route.ts";

export const brakeRoutes = {
  getBrake: route({
    method: "GET",
    path: "/installation/brake",
    tag: "Brake",
    summary: "Say what the operator has stopped",
    scope: "admin",
    answers: { 200: { description: "The brake, and how many runs have not ended.", schema: Brake } },
    errors: [],
  }),
  setBrake: route({
    method: "PUT",
    path: "/installation/brake",
    tag: "Brake",
    summary: "Pause intake or queue, or allow reading alone; an empty body releases all",
    description:
      "Holds on every server within a second, and outlives restarts. With the intake paused, new runs, follow-ups that would begin a turn, and attachments are refused; words to runs that wait or work are taken. With the queue paused, workers get neither runs that wait nor builds nor what a lost worker left; the time counts as waiting. In read-only mode both are closed, whatever they are set to, nothing is cleaned up, and every call that writes is refused, but for those of the brake, draining workers, and signing in and out. Refusals carry the code `resource_unavailable`, `Retry-After` and the message.",
    scope: "admin",
    whileReadOnly: true,
    body: BrakeRequest,
    answers: { 200: { description: "The brake as it is now.", schema: Brake } },
    errors: [],
  }),
  cancelRuns: route({
    method: "POST",
    path: "/installation/brake/cancel",
    tag: "Brake",
    summary: "Cancel all runs that a filter finds",
    description:
      "One call ends a bounded number of them, each as `POST /agent/runs/{runId}/cancel` would, and says how many are left.",
    scope: "admin",
    whileReadOnly: true,
    body: CancelRunsRequest,
    answers: { 200: { description: "How many.", schema: CancelRunsResponse } },
    errors: [],
  }),
};
