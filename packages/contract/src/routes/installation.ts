import { Installation } from "../installation.ts";
import { route } from "../route.ts";

export const installationRoutes = {
  getInstallation: route({
    method: "GET",
    path: "/installation",
    tag: "Installation",
    summary: "Get maintenance status, limits and retention",
    description:
      "Shows whether the installation accepts new runs. The call is cheap, so clients can poll it every few seconds.",
    scope: "runs:read",
    responses: { 200: { description: "Settings and current status.", schema: Installation } },
    errors: [],
  }),
};
