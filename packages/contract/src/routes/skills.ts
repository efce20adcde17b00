import { route } from "../route.ts";
import { ListSkillsResponse } from "../skill.ts";

export const skillsRoutes = {
  listSkills: route({
    method: "GET",
    path: "/agent/skills",
    tag: "Skills",
    summary: "List skills",
    description:
      "What the builds of environments have found in their repositories, by name. A run may also use a skill that is not listed: any that `skill_spec` can name.",
    scope: "runs:read",
    answers: { 200: { description: "Skills of all environments.", schema: ListSkillsResponse } },
    errors: [],
  }),
};
