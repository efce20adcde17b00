import { Me } from "../person.ts";
import { route } from "../route.ts";

export const peopleRoutes = {
  getMe: route({
    method: "GET",
    path: "/me",
    tag: "Keys",
    summary: "Who the key speaks for",
    scope: "runs:read",
    answers: { 200: { description: "Owner, role and scopes.", schema: Me } },
    errors: [],
  }),
};
