/** The port of the egress proxy on the localhost of a sandbox. */
export const proxyPort = 3128;

const proxyUrl = `http://127.0.0.1:${proxyPort}`;

/**
 * A ProxyCommand for ssh, which does not support HTTP proxies. It sends CONNECT, then copies data in both directions.
 */
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

/** Environment variables for commands in a sandbox with network access. */
export const proxyEnvironment: Record<string, string> = {
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  ALL_PROXY: proxyUrl,
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  all_proxy: proxyUrl,
  NO_PROXY: "localhost,127.0.0.1,::1",
  no_proxy: "localhost,127.0.0.1,::1",
  // Without this, Node's fetch ignores the other variables.
  NODE_USE_ENV_PROXY: "1",
  GIT_SSH_COMMAND: "ssh -o 'ProxyCommand=/etc/outrider-connect %h %p'",
};
