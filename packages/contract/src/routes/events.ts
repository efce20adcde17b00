import { z } from "zod";
import { ListEventsResponse } from "../event.ts";
import { ListEventsQuery } from "../query.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

export const eventsRoutes = {
  listEvents: route({
    method: "GET",
    path: "/agent/runs/{runId}/events",
    tag: "Events",
    summary: "Read or stream a run's events",
    description:
      "With `Accept: text/event-stream`: `id:` is the event's `seq`, a stream resumes after `Last-Event-ID` (which wins over `after`) and ends when the run is final and everything was sent.",
    scope: "runs:read",
    params: runId,
    query: ListEventsQuery,
    answers: {
      200: { description: "Events in order.", schema: ListEventsResponse, stream: "resumable" },
      204: { description: "Stream only: the run is final and the client has everything." },
    },
    errors: [],
  }),
  getTranscript: route({
    method: "GET",
    path: "/agent/runs/{runId}/transcript",
    tag: "Events",
    summary: "Read a run's transcript",
    description: "As Markdown, as one JSON document, or with one event a line, by `Accept`.",
    scope: "runs:read",
    params: runId,
    answers: {
      200: {
        description: "The whole transcript so far.",
        media: ["text/markdown", "application/json", "application/x-ndjson"],
      },
    },
    errors: [],
  }),
};
