import type { FieldError } from "@outrider/contract/errors/field-error";
import type { CloudEnvironment } from "@outrider/sdk";
import { formatLabels, parseLabels } from "../../../ui/form/worker-labels.ts";
import { blankPublish, type PublishValues, policyOf, publishValuesOf } from "./publish-values.ts";

type Text = string | undefined;

/** The form's values. Repeated fields are lists of rows, some of which may be empty. */
export interface Values {
  name: Text;
  description: Text;
  docker_image: Text;
  devcontainer: Text;
  /** The form has a field only for the path, but keeps the rest. */
  dockerfile: Omit<NonNullable<CloudEnvironment["dockerfile"]>, "path"> & { path: Text };
  docker_image_secret: Text;
  user: Text;
  repos: RepositoryValues[];
  setup_commands: { text: Text }[];
  start_commands: { text: Text }[];
  variables: { name: Text; value: Text }[];
  secrets: string[];
  build_secrets: string[];
  network: { mode: CloudEnvironment["network"]["mode"]; allow: { text: Text }[] };
  resources: Record<Resource, number | undefined>;
  /** The form has no field for it, but must not lose it. */
  git_author: CloudEnvironment["git_author"];
  /** Not shown, but kept. */
  checks: CloudEnvironment["checks"];
  harness: Text;
  /** Empty: any. */
  sandbox: Text;
  worker_host: Text;
  /** Labels such as `region=eu, gpu`. */
  worker_selector: Text;
  timeout_minutes: number | undefined;
  max_concurrent_runs: number | undefined;
}

export interface RepositoryValues extends Record<string, Text>, PublishValues {
  /** `owner/repo` or a URL. */
  address: Text;
  ref: Text;
  path: Text;
  secret: Text;
  /** "skip" or empty. */
  submodules: Text;
  /** "skip" or empty. */
  lfs: Text;
  /** Folders, separated by commas. */
  sparse_paths: Text;
}

type Resource = keyof NonNullable<CloudEnvironment["resources"]>;

export const blankRepository: RepositoryValues = {
  address: undefined,
  ref: undefined,
  path: undefined,
  secret: undefined,
  submodules: undefined,
  lfs: undefined,
  sparse_paths: undefined,
  ...blankPublish,
};
export const blankText = { text: undefined };
export const blankVariable = { name: undefined, value: undefined };

export const blankValues: Values = {
  name: undefined,
  description: undefined,
  docker_image: undefined,
  devcontainer: undefined,
  dockerfile: { path: undefined },
  docker_image_secret: undefined,
  user: undefined,
  repos: [blankRepository],
  setup_commands: [blankText],
  start_commands: [],
  variables: [],
  secrets: [],
  build_secrets: [],
  network: { mode: "none", allow: [] },
  resources: { cpus: undefined, memory_mb: undefined, pids: undefined, disk_mb: undefined },
  git_author: undefined,
  checks: undefined,
  harness: undefined,
  sandbox: undefined,
  worker_host: undefined,
  worker_selector: undefined,
  timeout_minutes: undefined,
  max_concurrent_runs: undefined,
};

export function valuesOf(environment: CloudEnvironment): Values {
  const { name, description, repos, setup_commands, variables, network } = environment;
  const textRows = (texts: string[]) => texts.map((text) => ({ text }));
  return {
    name,
    description,
    docker_image: environment.docker_image,
    devcontainer: environment.devcontainer,
    dockerfile: environment.dockerfile ?? blankValues.dockerfile,
    docker_image_secret: environment.docker_image_secret,
    user: environment.user,
    repos: repos.map(({ url, owner, repo, ref, path, secret, submodules, lfs, sparse_paths, publish }) => ({
      address: url ?? `${owner}/${repo}`,
      ref,
      path,
      secret,
      submodules: submodules === false ? "skip" : undefined,
      lfs: lfs === false ? "skip" : undefined,
      sparse_paths: sparse_paths?.join(", "),
      ...publishValuesOf(publish),
    })),
    setup_commands: textRows(setup_commands),
    start_commands: textRows(environment.start_commands),
    variables: Object.entries(variables).map(([name, value]) => ({ name, value: value || undefined })),
    secrets: environment.secrets,
    build_secrets: environment.build_secrets,
    network: { mode: network.mode, allow: textRows(network.allow ?? []) },
    resources: { ...blankValues.resources, ...environment.resources },
    git_author: environment.git_author,
    checks: environment.checks,
    harness: environment.harness,
    sandbox: environment.sandbox,
    worker_host: environment.worker_host,
    worker_selector: formatLabels(environment.worker_selector) || undefined,
    timeout_minutes: environment.timeout_minutes,
    max_concurrent_runs: environment.max_concurrent_runs,
  };
}

/** Empty rows are not sent. */
export const isFilled = (row: Record<string, Text>) => Object.values(row).some((text) => text !== undefined);

/** Returns `owner` and `repo`, or `url` if the address is not of the form `owner/repo`. */
function addressOf(address: string) {
  const [owner, repo, ...rest] = address.split("/");
  return owner && repo && rest.length === 0 && !/[\s:]/.test(address) ? { owner, repo } : { url: address };
}

export function repositoryOf(values: RepositoryValues) {
  const { address, ref, path, secret, submodules, lfs, sparse_paths } = values;
  const publish = policyOf(values);
  const folders = (sparse_paths ?? "").split(",").map((path) => path.trim().replace(/\/+$/, ""));
  const sparsePaths = folders.filter((path) => path !== "");
  return {
    ...addressOf(address ?? ""),
    ...{ ref, path, secret },
    ...(submodules ? { submodules: false } : {}),
    ...(lfs ? { lfs: false } : {}),
    ...(sparsePaths.length > 0 ? { sparse_paths: sparsePaths } : {}),
    ...(publish ? { publish } : {}),
  };
}

export function requestOf(values: Values) {
  const { repos, setup_commands, start_commands, variables, network, resources, dockerfile, ...others } =
    values;
  const { worker_selector, ...same } = others;
  const labels = parseLabels(worker_selector);
  const texts = (rows: { text: Text }[]) => rows.flatMap(({ text }) => text ?? []);
  return {
    ...same,
    ...(labels ? { worker_selector: labels } : {}),
    ...(dockerfile.path === undefined ? {} : { dockerfile: { ...dockerfile, path: dockerfile.path } }),
    ...(Object.values(resources).some((amount) => amount !== undefined) ? { resources } : {}),
    repos: repos.filter(isFilled).map(repositoryOf),
    setup_commands: texts(setup_commands),
    start_commands: texts(start_commands),
    variables: Object.fromEntries(
      variables.filter(isFilled).map(({ name = "", value = "" }) => [name, value]),
    ),
    network: {
      mode: network.mode,
      ...(network.mode === "allowlist" ? { allow: texts(network.allow) } : {}),
    },
  };
}

/** Returns the form field for a path in the request. Row indexes differ, because the request omits empty rows. */
export function fieldOf(path: string[], values: Values): string[] {
  const { repos, variables, network } = values;
  const [first, second, third, fourth] = path;
  const position = (rows: Record<string, Text>[], sent: string | undefined) => {
    const filled = rows.flatMap((row, at) => (isFilled(row) ? [at] : []));
    return String(filled[Number(sent ?? 0)] ?? 0);
  };
  if (first === "repos" && second !== undefined) {
    const isAddress = third === undefined || third === "url" || third === "owner" || third === "repo";
    const field = third === "publish" ? `publish_${fourth ?? "publish"}` : third;
    return [first, position(repos, second), isAddress ? "address" : (field ?? "address")];
  }
  if (first === "setup_commands" || first === "start_commands")
    return [first, position(values[first], second), "text"];
  if (first === "variables" && second !== undefined)
    return [first, String(variables.findIndex(({ name = "" }) => name === second)), "name"];
  if (first === "dockerfile") return [first, "path"];
  if (first === "network" && second === "allow")
    return [first, second, position(network.allow, third), "text"];
  return path;
}

/** Finds errors that the schema cannot find. */
export function check({ variables, network }: Values): FieldError[] {
  const names = variables.flatMap(({ name }) => name ?? []);
  const repeated = names.filter((name, at) => names.indexOf(name) < at);
  return [
    ...repeated.map((name) => ({
      pointer: `/variables/${name}`,
      message: "is repeated; remove one of them",
    })),
    ...(network.mode === "allowlist" && !network.allow.some(isFilled)
      ? [{ pointer: "/network/allow", message: "is required; add a domain, or choose another network mode" }]
      : []),
  ];
}
