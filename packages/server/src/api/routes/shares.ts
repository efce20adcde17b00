import type { ShareResponse } from "@outrider/contract/shares/share";
import { shareRun, unshareRun } from "../../engine/runs/shares.ts";
import { type Handlers, noContent } from "../pipeline/call.ts";

export const shareHandlers: Pick<Handlers, "createShare" | "deleteShare"> = {
  async createShare({ sql, services, principal, params, body }) {
    const { token, expires_at } = await shareRun(sql, principal, params.runId, body);
    const replayBody: ShareResponse = { expires_at };
    return {
      status: 201,
      body: { link: `${services.origin()}/shared/${token}`, ...replayBody },
      replayBody,
    };
  },

  async deleteShare({ sql, principal, params }) {
    await unshareRun(sql, principal, params.runId);
    return noContent;
  },
};
