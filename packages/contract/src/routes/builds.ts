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
    summary: "List an environment's latest builds",
    scope: "runs:read",
    params: environmentId,
    answers: { 200: { description: "The latest hundred, newest first.", schema: ListBuildsResponse } },
    errors: [],
  }),
  createBuild: route({
    method: "POST",
    path: "/agent/environments/{environmentId}/builds",
    tag: "Environments",
    summary: "Build an environment anew",
    description:
      "Runs build what they need by themselves. This prepares it ahead, or runs setup commands again whose outcome has changed.",
    scope: "runs:write",
    params: environmentId,
    answers: { 201: { description: "The build is queued.", schema: Build } },
    errors: ["conflict"],
  }),
  getBuild: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds/{buildId}",
    tag: "Environments",
    summary: "Get a build",
    scope: "runs:read",
    params: buildId,
    answers: { 200: { description: "The build.", schema: Build } },
    errors: [],
  }),
  listBuildEvents: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds/{buildId}/events",
    tag: "Environments",
    summary: "Read or stream a build's log",
    description:
      "With `Accept: text/event-stream`: `id:` is the event's `seq`, a stream resumes after `Last-Event-ID` and ends when the build is finished and everything was sent.",
    scope: "runs:read",
    params: buildId,
    query: ListEventsQuery,
    answers: {
      200: { description: "Events in order.", schema: ListBuildEventsResponse, stream: "resumable" },
      204: { description: "Stream only: the build is finished and the client has everything." },
    },
    errors: [],
  }),
};
