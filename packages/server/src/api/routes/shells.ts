import { requireEnvironment } from "../../engine/auth/environment-access.ts";
import { topics } from "../../engine/live/pubsub.ts";
import {
  close,
  createShell,
  listShellEvents,
  requireMaintainer,
  requireShell,
  sendInput,
} from "../../engine/shells/shells.ts";
import { findRevokedCredentials } from "../../store/auth/credentials.ts";
import { deleteFrames, findShell, type StoredShell } from "../../store/shells.ts";
import { created, type Handlers, noContent, ok } from "../pipeline/call.ts";
import { respondWithEvents } from "../streams/event-log.ts";

/** How long a stream waits for a notification before it polls. */
const POLL_MS = 800;

const hasEndedAt = ({ state, output_seq }: StoredShell, after: number) =>
  state === "CLOSED" && after >= output_seq;

export const shellHandlers: Pick<
  Handlers,
  "createShell" | "getShell" | "listShellEvents" | "sendShellInput" | "deleteShell"
> = {
  async createShell({ sql, services, principal, params, body, publish, onSettled }) {
    requireMaintainer(principal);
    const environment = await requireEnvironment(sql, principal, params.environmentId);
    const { policy } = services;
    const shell = await createShell(sql, { policy, principal }, { environment, request: body });
    const { shell_id, environment_id } = shell;
    onSettled((isCommitted) => {
      const fields = { shell_id, environment_id, user_uid: principal.userUid };
      if (isCommitted) services.log.info(fields, "shell requested");
    });
    publish(topics.queue);
    return created(shell);
  },

  async getShell({ sql, principal, params }) {
    const { output_seq: _, ...shell } = await requireShell(sql, principal, params);
    return ok(shell);
  },

  async listShellEvents(call) {
    const { sql, services, principal, params } = call;
    const { db, pubsub, vault } = services;
    const { shellId } = params;
    const { userUid, credentialId } = principal;
    const shell = await requireShell(sql, principal, params);
    return respondWithEvents(call, {
      hasEnded: async (after) => hasEndedAt(shell, after),
      list: (after, limit) => listShellEvents(sql, vault, { shellId, after, limit }),
      follow({ signal }) {
        let notified: Promise<unknown>;
        let checkedAt = Date.now();
        return {
          async read(after, limit) {
            notified = pubsub.next(topics.shell(shellId), { ms: POLL_MS, signal });
            // Read the state first. If it is final, the events that are read after it are complete.
            const current = await findShell(db, { ...params, userUid });
            const page = await listShellEvents(db, vault, { shellId, after, limit });
            const last = page.events.at(-1)?.seq ?? after;
            // The events of a closed shell are deleted after some time.
            const isDeleted = current?.state === "CLOSED" && page.events.length === 0;
            return { ...page, hasEnded: !current || isDeleted || hasEndedAt(current, last) };
          },
          async wait() {
            if (Date.now() - checkedAt > POLL_MS) {
              if ((await findRevokedCredentials(db, [credentialId])).length > 0) return false;
              checkedAt = Date.now();
            }
            await notified;
            return true;
          },
        };
      },
    });
  },

  async sendShellInput({ sql, services, principal, params, body, publish }) {
    await sendInput(sql, { vault: services.vault, principal }, params, body);
    publish(topics.shell(params.shellId));
    return noContent;
  },

  async deleteShell({ sql, services, principal, params, publish }) {
    await requireShell(sql, principal, params);
    const ending = { message: "The shell was closed by its user." };
    if (!(await close(sql, services, params.shellId, ending))) await deleteFrames(sql, params.shellId);
    publish(topics.shell(params.shellId));
    return noContent;
  },
};
