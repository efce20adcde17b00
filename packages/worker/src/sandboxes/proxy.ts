import { proxyPort } from "./networks.ts";

const url = `http://127.0.0.1:${proxyPort}`;

/** For ssh, which knows no proxies of HTTP: asks ours for a connection, then copies both ways. */
export const connectScript = `#!/bin/bash
exec 3<> /dev/tcp/127.0.0.1/${proxyPort} 4<&0 || exit 1
printf 'CONNECT %s:%s HTTP/1.1\\r\\nHost: %s:%s\\r\\n\\r\\n' "$1" "$2" "$1" "$2" >&3
IFS= read -r status <&3
while IFS= read -r line <&3 && [[ $line != $'\\r' ]]; do :; done
if [[ $status != HTTP/1.?' '200* ]]; then
  echo "$status" >&2
  timeout 2 cat <&3 >&2
  exit 1
fi
cat <&4 >&3 &
cat <&3
kill $! 2> /dev/null
`;

/** What commands of a sandbox with network find in their environment. */
export const proxyEnvironment: Record<string, string> = {
  HTTP_PROXY: url,
  HTTPS_PROXY: url,
  ALL_PROXY: url,
  http_proxy: url,
  https_proxy: url,
  all_proxy: url,
  NO_PROXY: "localhost,127.0.0.1,::1",
  no_proxy: "localhost,127.0.0.1,::1",
  // Node's own fetch takes no notice of the others without it.
  NODE_USE_ENV_PROXY: "1",
  GIT_SSH_COMMAND: "ssh -o 'ProxyCommand=/etc/outrider-connect %h %p'",
};
