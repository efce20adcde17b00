import { z } from "zod";
import { Build, ListBuildEventsResponse, ListBuildsResponse } from "../build.ts";
import { ListEventsQuery } from "../query.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

const environmentId = z.object({ environmentId: Uuid });
const buildId = z.object({ environmentId: Uuid, buildId: Uuid });

export const buildsRoutes = {
  listBuilds: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds",
    tag: "Environments",
    summary: "List the latest builds of an environment",
    scope: "runs:read",
    params: environmentId,
    responses: { 200: { description: "The latest 100 builds, newest first.", schema: ListBuildsResponse } },
    errors: [],
  }),
  createBuild: route({
    method: "POST",
    path: "/agent/environments/{environmentId}/builds",
    tag: "Environments",
    summary: "Rebuild an environment",
    description:
      "Runs build their environment when they need it. Use this call to build it ahead of time, or to run the setup commands again. If a build of the same version of the environment is queued or in progress, the call returns that build and starts no other. A user, together with their cloud agents, can have a limited number of unfinished builds (`max_builds_per_user` in `GET /installation`); further calls return `rate_limited`.",
    scope: "runs:write",
    params: environmentId,
    responses: {
      201: { description: "The build is queued.", schema: Build },
      200: { description: "The build that was already queued or in progress.", schema: Build },
    },
    errors: ["conflict"],
  }),
  getBuild: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds/{buildId}",
    tag: "Environments",
    summary: "Get a build",
    scope: "runs:read",
    params: buildId,
    responses: { 200: { description: "The build.", schema: Build } },
    errors: [],
  }),
  listBuildEvents: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds/{buildId}/events",
    tag: "Environments",
    summary: "Read or stream a build log",
    description:
      "With `Accept: text/event-stream`, the call streams events. The `id:` of each event is its `seq`, and a new stream continues after `Last-Event-ID`. The stream ends after the last event of a finished build.",
    scope: "runs:read",
    params: buildId,
    query: ListEventsQuery,
    responses: {
      200: {
        description: "Events in ascending order.",
        schema: ListBuildEventsResponse,
        stream: "resumable",
      },
      204: { description: "Streams only: the build is finished, and there are no further events." },
    },
    errors: [],
  }),
};
