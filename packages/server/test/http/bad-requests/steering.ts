import { type BadRequest, create, get, invalid, refusedAs } from "./case.ts";
import type { Fixture } from "./fixture.ts";

const conflict = refusedAs("conflict");
const nobody = "01890000-0000-7000-8000-000000000000";

const followup =
  (body: object) =>
  ({ run }: Fixture) => ({
    method: "POST",
    path: `/agent/runs/${run.queued}/followups`,
    body,
  });
const change =
  (body: unknown, which: keyof Fixture["followup"] = "queued") =>
  ({ run, followup }: Fixture) => ({
    method: "PATCH",
    path: `/agent/runs/${run.queued}/followups/${followup[which]}`,
    body,
  });

const followups: BadRequest[] = [
  invalid("a follow-up without a message", followup({}), { pointer: "/message", says: "is required" }),
  invalid("an empty message", followup({ message: "" }), { pointer: "/message", says: "must not be empty" }),
  invalid("a message of 256 KiB and a byte", followup({ message: "x".repeat(262_145) }), {
    pointer: "/message",
    says: "must have at most 262144 bytes, but has 262145",
  }),
  invalid("a number as message", followup({ message: 5 }), { pointer: "/message", says: "must be a string" }),
  invalid("an unknown mode", followup({ message: "x", mode: "now" }), {
    pointer: "/mode",
    says: "must be one of `auto`, `queue`, `interrupt`",
  }),
  invalid("a follow-up with a prompt", followup({ prompt: "x" }), { pointer: "/prompt" }),
  invalid("a follow-up with a limit of nothing", followup({ message: "x", limits: { max_steps: 0 } }), {
    pointer: "/limits/max_steps",
  }),
  invalid("a change of nothing", change({}), { says: "must have `message` or `mode`" }),
  invalid("a change to an empty message", change({ message: "" }), { pointer: "/message" }),
  invalid("a change of the delivery", change({ delivery: "delivered" }), { pointer: "/delivery" }),
  conflict("a change of a withdrawn follow-up", change({ message: "x" }, "withdrawn"), { says: "withdrawn" }),
  conflict("withdrawing twice", ({ run, followup }) => ({
    method: "DELETE",
    path: `/agent/runs/${run.queued}/followups/${followup.withdrawn}`,
  })),
  conflict(
    "withdrawing all that a reopened run waits for",
    ({ run, followup }) => ({
      method: "DELETE",
      path: `/agent/runs/${run.reopened}/followups/${followup.awaited}`,
    }),
    { says: "Cancel the run instead" },
  ),
  refusedAs("resource_not_found")("an unknown follow-up", ({ run }) => ({
    method: "DELETE",
    path: `/agent/runs/${run.queued}/followups/${nobody}`,
  })),
  refusedAs("resource_not_found")("a follow-up of another run", ({ run, followup }) => ({
    method: "DELETE",
    path: `/agent/runs/${run.ofMember}/followups/${followup.queued}`,
  })),
];

const cancel =
  (which: keyof Fixture["run"]) =>
  ({ run }: Fixture) => ({
    method: "POST",
    path: `/agent/runs/${run[which]}/cancel`,
  });

const ends: BadRequest[] = [
  conflict("cancelling a run that has succeeded", cancel("succeeded"), { says: "SUCCEEDED" }),
  conflict("cancelling a run that has failed", cancel("failed"), { says: "FAILED" }),
  conflict(
    "deleting a run that waits",
    ({ run }) => ({ method: "DELETE", path: `/agent/runs/${run.queued}` }),
    {
      says: "Cancel it first",
    },
  ),
];

const share =
  (body: unknown) =>
  ({ run }: Fixture) => ({ method: "POST", path: `/agent/runs/${run.queued}/share`, body });

const shares: BadRequest[] = [
  invalid("a link for no time", share({ expires_in_hours: 0 }), { pointer: "/expires_in_hours" }),
  invalid("a link for more than a year", share({ expires_in_hours: 8_761 }), {
    pointer: "/expires_in_hours",
  }),
  invalid("a link with an unknown field", share({ expires_at: "2030-01-01T00:00:00Z" }), {
    pointer: "/expires_at",
  }),
];

const run = { prompt: "SAY: second" };
const once = (key: string | string[], body: unknown = run) =>
  create(body, { headers: { "idempotency-key": key } });
const header = { pointer: "Idempotency-Key", says: "must be 1 to 255 visible ASCII characters" };

const idempotency: BadRequest[] = [
  invalid("an idempotency key of 256 characters", once("k".repeat(256)), header),
  invalid("an idempotency key with spaces", once("my key"), header),
  invalid("an empty idempotency key", once(""), header),
  invalid("an idempotency key that is not ASCII", once("cl\xe9"), header),
  invalid("two idempotency keys", once(["one", "two"]), header),
  refusedAs("idempotency_mismatch")("an idempotency key of another body", ({ usedIdempotencyKey }) =>
    once(usedIdempotencyKey),
  ),
];

const stream =
  (lastEventId: string | string[]) =>
  ({ run }: Fixture) =>
    get(`/agent/runs/${run.queued}/events`, {
      headers: { accept: "text/event-stream", "last-event-id": lastEventId },
    });

const streams: BadRequest[] = [
  invalid("a last event that is no number", stream("latest"), { pointer: "Last-Event-ID" }),
  invalid("a last event before the first", stream("-1"), { pointer: "Last-Event-ID" }),
  invalid("a last event beyond all bounds", stream("99999999999999999999"), { pointer: "Last-Event-ID" }),
  invalid("two last events", stream(["1", "2"]), { pointer: "Last-Event-ID" }),
];

export const steeringCases: BadRequest[] = [...followups, ...ends, ...shares, ...idempotency, ...streams];
