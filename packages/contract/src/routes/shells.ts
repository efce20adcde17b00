import { z } from "zod";
import { ListEventsQuery } from "../query.ts";
import { noContent, route } from "../route.ts";
import { ListShellEventsResponse, Shell, ShellInput, ShellRequest } from "../shell.ts";
import { Uuid } from "../text.ts";

const environmentId = z.object({ environmentId: Uuid });
const shellId = z.object({ environmentId: Uuid, shellId: Uuid });

export const shellsRoutes = {
  createShell: route({
    method: "POST",
    path: "/agent/environments/{environmentId}/shells",
    tag: "Environments",
    summary: "Open a shell",
    description:
      "Opens a shell in a sandbox with the environment's latest build. If that build failed, a worker runs its steps again and opens the shell where the first step fails, with the variables and the build secrets of setup commands. Nothing that happens in the shell is stored. Only users can open shells, not cloud agents, and only the user who opened a shell can use it. By default, a user can have three shells at a time; further calls return `rate_limited`. A shell ends after 15 minutes without input and output, after an hour, and if the client sends no request for a minute.",
    scope: "admin",
    params: environmentId,
    body: ShellRequest,
    responses: { 201: { description: "The shell waits for a worker.", schema: Shell } },
    errors: [],
  }),
  getShell: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/shells/{shellId}",
    tag: "Environments",
    summary: "Get a shell",
    scope: "admin",
    params: shellId,
    responses: { 200: { description: "The shell.", schema: Shell } },
    errors: [],
  }),
  listShellEvents: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/shells/{shellId}/events",
    tag: "Environments",
    summary: "Read or stream the output of a shell",
    description:
      "Returns the events that the client has not confirmed with `received`. With `Accept: text/event-stream`, the call streams events. The `id:` of each event is its `seq`, and a new stream continues after `Last-Event-ID`. The stream ends after the event `closed`.",
    scope: "admin",
    params: shellId,
    query: ListEventsQuery,
    responses: {
      200: {
        description: "Events in ascending order.",
        schema: ListShellEventsResponse,
        stream: "resumable",
      },
      204: { description: "Streams only: the shell is closed, and there are no further events." },
    },
    errors: [],
  }),
  sendShellInput: route({
    method: "PUT",
    path: "/agent/environments/{environmentId}/shells/{shellId}/input",
    tag: "Environments",
    summary: "Send input to a shell",
    description:
      "Sends a numbered piece of input, a new terminal size, or a confirmation of received events. A client without input must send an empty object at least every 30 seconds, or the shell ends. If much input waits for the worker, the call returns `rate_limited`.",
    scope: "admin",
    params: shellId,
    body: ShellInput,
    responses: { 204: { description: "The input is stored." } },
    errors: ["conflict"],
    allowedInReadOnly: true,
  }),
  deleteShell: route({
    method: "DELETE",
    path: "/agent/environments/{environmentId}/shells/{shellId}",
    tag: "Environments",
    summary: "Close a shell",
    description:
      "Ends every process of the shell and deletes its sandbox. If the shell is already closed, deletes its remaining events.",
    scope: "admin",
    params: shellId,
    responses: noContent,
    errors: [],
    allowedInReadOnly: true,
  }),
};
