import { route } from "../route.ts";
import { ListAgentsResponse, ListSkillsResponse } from "../skill.ts";

export const skillsRoutes = {
  listSkills: route({
    method: "GET",
    path: "/agent/skills",
    tag: "Skills",
    summary: "List skills",
    description:
      "Returns the skills that builds found in the repositories of the environments that the key can use, sorted by name, each with its environments. A key that is limited to some environments gets only their skills. Runs can also use other skills that `skill_spec` can name.",
    scope: "runs:read",
    responses: {
      200: { description: "Skills of the environments that the key can use.", schema: ListSkillsResponse },
    },
    errors: [],
  }),
  listAgents: route({
    method: "GET",
    path: "/agent",
    tag: "Skills",
    summary: "List what can be started",
    description: "Returns the same skills as `GET /agent/skills`, in the field `agents`.",
    scope: "runs:read",
    responses: { 200: { description: "Skills that can be started.", schema: ListAgentsResponse } },
    errors: [],
  }),
};
