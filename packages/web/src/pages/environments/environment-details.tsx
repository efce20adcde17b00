import type { CloudEnvironment } from "@outrider/sdk";
import type { ReactNode } from "react";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { sandboxLabel } from "../../sandboxes/sandbox-choices.tsx";
import { formatLabels } from "../../ui/form/worker-labels.ts";
import { amounts } from "./form/form-limits.tsx";
import { networkModes } from "./network.ts";
import { repositoryDetails } from "./repository.ts";

/** Shows the environment to members, who cannot edit it. */
export function EnvironmentDetails({ environment }: { environment: CloudEnvironment }) {
  const {
    docker_image,
    devcontainer,
    dockerfile,
    user,
    repos,
    setup_commands,
    start_commands,
    checks = [],
    variables,
    secrets,
    build_secrets,
    network,
  } = environment;
  const harness = useHarnessTitles()(environment.harness);
  const mode = networkModes.find((each) => each.mode === network.mode);
  return (
    <>
      <p className="mb-4 text-muted">
        Only admins can edit this environment. You can run, build and test it.
      </p>
      <dl className="divide-y divide-line rounded-xl border border-line bg-surface">
        {(docker_image || devcontainer || dockerfile) && (
          <Fact name={dockerfile ? "Dockerfile" : devcontainer ? "Devcontainer" : "Image"}>
            <Lines
              of={[
                dockerfile?.path ?? devcontainer ?? docker_image ?? "",
                ...(user ? [`User: ${user}`] : []),
              ]}
            />
          </Fact>
        )}
        <Fact name="Repositories">
          <Lines of={repos.map(repositoryDetails)} />
        </Fact>
        <Fact name="Setup commands">
          <Lines of={setup_commands} />
        </Fact>
        {start_commands.length > 0 && (
          <Fact name="Start commands">
            <Lines of={start_commands} />
          </Fact>
        )}
        {checks.length > 0 && (
          <Fact name="Checks">
            <Lines of={checks.map(({ name, command }) => (name ? `${name}: ${command}` : command))} />
          </Fact>
        )}
        <Fact name="Variables">
          <Lines of={Object.entries(variables).map(([name, value]) => `${name}=${value}`)} />
        </Fact>
        <Fact name="Secrets">
          <Lines of={secrets} />
        </Fact>
        {build_secrets.length > 0 && (
          <Fact name="Secrets for setup commands">
            <Lines of={build_secrets} />
          </Fact>
        )}
        <Fact name="Network">
          {mode?.label}
          <p className="text-xs text-muted">{mode?.meaning}</p>
          {network.allow && <Lines of={network.allow} />}
        </Fact>
        {harness && <Fact name="Harness">{harness}</Fact>}
        {environment.sandbox && <Fact name="Sandbox">{sandboxLabel(environment.sandbox)}</Fact>}
        {environment.worker_host && <Fact name="Worker pool">{environment.worker_host}</Fact>}
        {environment.worker_selector && (
          <Fact name="Worker labels">{formatLabels(environment.worker_selector)}</Fact>
        )}
        {amounts.map(({ name, valueIn, label, unit, fallback }) => (
          <Fact key={name} name={label}>
            {valueIn(environment) === undefined ? (
              <span className="text-muted">{fallback}</span>
            ) : (
              `${valueIn(environment)} ${unit}`
            )}
          </Fact>
        ))}
      </dl>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid gap-1 px-4 py-3 sm:grid-cols-[12rem_minmax(0,1fr)]">
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}

function Lines({ of }: { of: string[] }) {
  if (of.length === 0) return <span className="text-muted">None</span>;
  return (
    <ul className="flex flex-col gap-1">
      {of.map((line) => (
        <li key={line} className="whitespace-pre-wrap break-words font-mono text-xs">
          {line}
        </li>
      ))}
    </ul>
  );
}
