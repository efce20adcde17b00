import { type BadRequest, get, invalid, refusedAs } from "./case.ts";
import type { Fixture } from "./fixture.ts";

const unknown = refusedAs("resource_not_found");
const wrongMethod = refusedAs("method_not_allowed");
const notAcceptable = refusedAs("not_acceptable");
const nobody = "01890000-0000-7000-8000-000000000000";
const outside =
  (path: string, method = "GET") =>
  (fixture: Fixture) => ({
    method,
    path: fixture.server.origin + path,
  });

const addresses: BadRequest[] = [
  unknown("an address that nothing has", get("/agent/tasks")),
  unknown("the root of the API", get("")),
  unknown("another version of the API", outside("/api/v2/agent/runs")),
  unknown("an address in other letters", outside("/API/v1/agent/runs")),
  unknown("a slash behind the address", get("/agent/runs/")),
  unknown("two slashes", get("/agent//runs")),
  unknown("schedules, which come later", get("/agent/schedules")),
  unknown("an address with a NUL", get("/agent/models%00")),
  unknown("a path that climbs", get("/agent/runs/../../../../etc/passwd")),
  unknown("a run id that is none", get("/agent/runs/not-a-uuid"), { says: "No resource with this ID" }),
  unknown("a run id with a NUL", get("/agent/runs/%00")),
  unknown("a run id with a quote", get("/agent/runs/'%20or%201=1--")),
  unknown("an unknown run", get(`/agent/runs/${nobody}`), { says: "No run with this ID" }),
  unknown("events of an unknown run", get(`/agent/runs/${nobody}/events`)),
  unknown("follow-ups of an unknown run", get(`/agent/runs/${nobody}/followups`)),
  unknown("cancelling an unknown run", { method: "POST", path: `/agent/runs/${nobody}/cancel` }),
  unknown("deleting an unknown run", { method: "DELETE", path: `/agent/runs/${nobody}` }),
  unknown("a run id of 1,025 characters", get(`/agent/runs/${"a".repeat(1_025)}`)),
  unknown("a path of 8,000 characters", get(`/agent/${"x/".repeat(4_000)}`)),
  unknown("an unknown environment", get(`/agent/environments/${nobody}`)),
  unknown("a deleted environment", ({ environment }) => get(`/agent/environments/${environment.deleted}`)),
  unknown("an unknown cloud agent", get(`/agent/identities/${nobody}`)),
  unknown("a deleted cloud agent", ({ cloudAgent }) => get(`/agent/identities/${cloudAgent.deleted}`)),
  unknown("deleting an unknown secret", { method: "DELETE", path: "/agent/secrets/NOBODY" }),
  unknown("deleting an unknown key", { method: "DELETE", path: `/keys/${nobody}` }),
  unknown("a method that nothing has, on an unknown address", { method: "DELETE", path: "/agent/tasks" }),
  invalid("a malformed escape in the path", get("/agent/runs/%zz"), { says: "invalid percent-encoding" }),
  invalid("half an escape in the path", get("/agent/runs/%e"), { says: "invalid percent-encoding" }),
  invalid("bytes in the path that are not UTF-8", get("/agent/runs/%ff"), {
    says: "invalid percent-encoding",
  }),
];

const methods: BadRequest[] = [
  wrongMethod("PUT on create", { method: "PUT", path: "/agent/run" }, { allow: "POST" }),
  wrongMethod("GET on create", get("/agent/run"), { allow: "POST" }),
  wrongMethod("DELETE on the list", { method: "DELETE", path: "/agent/runs" }, { allow: "GET, HEAD, POST" }),
  wrongMethod(
    "OPTIONS on the list",
    { method: "OPTIONS", path: "/agent/runs" },
    { allow: "GET, HEAD, POST" },
  ),
  wrongMethod("TRACE on the list", { method: "TRACE", path: "/agent/runs" }, { allow: "GET, HEAD, POST" }),
  wrongMethod(
    "PROPFIND on the list",
    { method: "PROPFIND", path: "/agent/runs" },
    { allow: "GET, HEAD, POST" },
  ),
  wrongMethod("QUERY on the list", { method: "QUERY", path: "/agent/runs" }, { allow: "GET, HEAD, POST" }),
  wrongMethod(
    "PATCH on a run",
    ({ run }) => ({ method: "PATCH", path: `/agent/runs/${run.queued}`, body: { title: "new" } }),
    { allow: "DELETE, GET, HEAD" },
  ),
  wrongMethod("GET on cancel", ({ run }) => get(`/agent/runs/${run.queued}/cancel`), { allow: "POST" }),
  wrongMethod("POST on a secret", { method: "POST", path: "/agent/secrets/A" }, { allow: "DELETE, PUT" }),
  wrongMethod("PUT on a key", { method: "PUT", path: `/keys/${nobody}` }, { allow: "DELETE" }),
  wrongMethod("POST on a page of the service", outside("/healthz", "POST"), { allow: "GET, HEAD" }),
  wrongMethod("DELETE on openapi.json", { method: "DELETE", path: "/openapi.json" }, { allow: "GET, HEAD" }),
];

const accept = (type: string) => ({ headers: { accept: type } });

const forms: BadRequest[] = [
  notAcceptable("a list as HTML", get("/agent/runs", accept("text/html"))),
  notAcceptable("a list as XML or an image", get("/agent/runs", accept("application/xml, image/*;q=0.8"))),
  notAcceptable("one run as a stream", ({ run }) =>
    get(`/agent/runs/${run.queued}`, accept("text/event-stream")),
  ),
  notAcceptable("events as HTML", ({ run }) => get(`/agent/runs/${run.queued}/events`, accept("text/html"))),
  notAcceptable("a new run as HTML", {
    method: "POST",
    path: "/agent/run",
    body: { prompt: "x" },
    ...accept("text/html"),
  }),
];

export const addressCases: BadRequest[] = [...addresses, ...methods, ...forms];
