import { testDockerfileBuilds } from "../dockerfiles/dockerfile-builds.ts";

testDockerfileBuilds("local", async () => ({ sandbox: "local" }));
