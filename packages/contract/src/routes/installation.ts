import { Installation } from "../installation.ts";
import { route } from "../route.ts";

export const installationRoutes = {
  getInstallation: route({
    method: "GET",
    path: "/installation",
    tag: "Installation",
    summary: "Say what is stopped, and which limits and retention hold",
    description:
      "For everybody who may read runs. Cheap enough to be asked every few seconds: it tells in advance whether a new run would be taken.",
    scope: "runs:read",
    answers: { 200: { description: "As it is now.", schema: Installation } },
    errors: [],
  }),
};
