import { CancelRunsRequest, CancelRunsResponse, Maintenance, MaintenanceRequest } from "../maintenance.ts";
import { route } from "../route.ts";

export const maintenanceRoutes = {
  getMaintenance: route({
    method: "GET",
    path: "/installation/maintenance",
    tag: "Maintenance",
    summary: "Get the maintenance settings",
    scope: "admin",
    responses: {
      200: { description: "Maintenance settings and the number of unfinished runs.", schema: Maintenance },
    },
    errors: [],
  }),
  setMaintenance: route({
    method: "PUT",
    path: "/installation/maintenance",
    tag: "Maintenance",
    summary: "Replace the maintenance settings",
    description:
      "Takes effect on every server within one second and survives restarts. An empty body ends maintenance. `admission: paused` rejects new runs, follow-ups that would start a turn, and attachments; messages to queued runs and runs in progress are accepted. `queue: paused` gives workers no queued runs, no builds and no runs from lost workers; paused time counts toward the queue timeout. `mode: read_only` pauses admission and the queue, stops cleanup, and rejects every call that writes, except for maintenance, draining workers, signing in and signing out. Rejected calls return `resource_unavailable`, `Retry-After` and the message.",
    scope: "admin",
    allowedInReadOnly: true,
    body: MaintenanceRequest,
    responses: { 200: { description: "The new maintenance settings.", schema: Maintenance } },
    errors: [],
  }),
  cancelRuns: route({
    method: "POST",
    path: "/installation/maintenance/cancel",
    tag: "Maintenance",
    summary: "Cancel all runs that match a filter",
    description:
      "Each call cancels a limited number of runs, in the same way as `POST /agent/runs/{runId}/cancel`, and returns how many are left.",
    scope: "admin",
    allowedInReadOnly: true,
    body: CancelRunsRequest,
    responses: {
      200: { description: "Number of cancelled and remaining runs.", schema: CancelRunsResponse },
    },
    errors: [],
  }),
};
