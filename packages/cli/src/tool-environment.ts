const toolVariables =
  /^(PATH|HOME|XDG_\w+|(https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|SSL_CERT_(FILE|DIR)|(NPM_CONFIG|PIP|CARGO)_\w+|GO(PROXY|SUMDB|PRIVATE|NOPROXY|NOSUMDB|INSECURE|ENV)|APT_CONFIG|M2_HOME|MAVEN_HOME|JAVA_HOME|RUSTUP_HOME|PYENV_ROOT|VIRTUAL_ENV)$/i;

/**
 * Returns the variables with which package managers find their configuration and the network. Presets such as `preset:npm`
 * stand for what the worker's own tools are configured to use, and npm installs agents on the worker.
 */
export function toolEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && toolVariables.test(name) ? [[name, value]] : [],
  );
  return Object.fromEntries(entries);
}
