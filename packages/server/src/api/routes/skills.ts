import { usableEnvironments } from "../../engine/auth/environment-access.ts";
import { listSkills } from "../../store/skills.ts";
import { type Handlers, ok } from "../pipeline/call.ts";

export const skillHandlers: Pick<Handlers, "listSkills" | "listAgents"> = {
  async listSkills({ sql, principal }) {
    return ok({ skills: await listSkills(sql, usableEnvironments(principal)) });
  },

  async listAgents({ sql, principal }) {
    return ok({ agents: await listSkills(sql, usableEnvironments(principal)) });
  },
};
