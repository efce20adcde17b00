import { listSkills } from "../../store/skills.ts";
import { type Handlers, ok } from "../call.ts";

export const skillHandlers: Pick<Handlers, "listSkills"> = {
  async listSkills({ sql }) {
    return ok({ skills: await listSkills(sql) });
  },
};
