import { testDockerfileBuilds } from "../dockerfiles/dockerfile-builds.ts";
import { sharedDocker } from "./shared-docker.ts";

testDockerfileBuilds("docker", async () => ({
  ...{ sandbox: "docker", docker: { engine: { host: await sharedDocker() } } },
}));
