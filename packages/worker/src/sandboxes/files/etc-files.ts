import { connectScript } from "../network/proxy.ts";

export const npmConfigPath = "/etc/npmrc";

/** Returns the content of /etc/hosts with additional lines. */
export const hostsFile = (lines = "") => `127.0.0.1 localhost sandbox\n::1 localhost sandbox\n${lines}`;

/** The files of /etc in a sandbox without an image. Those of the host would reveal the host's users, machines and networks. */
export const etcFiles: Record<string, string> = {
  passwd: "root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n",
  group: "root:x:0:\nsandbox:x:1000:\n",
  hosts: hostsFile(),
  "resolv.conf": "",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  "outrider-connect": connectScript,
  npmrc: "prefix=/home/sandbox/.local\n",
};
