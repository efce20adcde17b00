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
      "With `Accept: text/event-stream`, the call streams events. The `id:` of each event is its `seq`, and a new stream continues after `Last-Event-ID`, which takes precedence over `after`. The stream ends after the last event of a finished run.",
    scope: "runs:read",
    params: runId,
    query: ListEventsQuery,
    responses: {
      200: { description: "Events in ascending order.", schema: ListEventsResponse, stream: "resumable" },
      204: { description: "Streams only: the run is finished, and there are no further events." },
    },
    errors: [],
  }),
  getTranscript: route({
    method: "GET",
    path: "/agent/runs/{runId}/transcript",
    tag: "Events",
    summary: "Get the transcript of a run",
    description: "Returns Markdown, one JSON document, or one event per line, depending on `Accept`.",
    scope: "runs:read",
    params: runId,
    responses: {
      200: {
        description: "The transcript so far.",
        media: ["text/markdown", "application/json", "application/x-ndjson"],
      },
    },
    errors: [],
  }),
};
