import type { RunItem, RunReceipt } from "@outrider/sdk";
import { CircleCheck, ReceiptText, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { describeSandbox } from "../../../sandboxes/describe-sandbox.ts";
import { resourceLabel } from "../../../sandboxes/resource-labels.ts";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { Section } from "../../../ui/page.tsx";
import { sanitizeLine } from "../../../ui/text/sanitize.ts";
import { TranscriptLink } from "../transcript-link.tsx";

const networkLabels = {
  open: "Open: all public addresses were reachable.",
  allowlist: "Allowlist: only these domains were reachable:",
  none: "None: nothing outside the sandbox was reachable.",
};

/** Shows the resources that the run actually used. */
export function Receipt({ run }: { run: RunItem }) {
  const { receipt } = run;
  if (!receipt) {
    return (
      <EmptyState
        icon={<ReceiptText className="size-5" aria-hidden />}
        title="No receipt yet"
        action={<TranscriptLink />}
      >
        When a worker has prepared the run, this page shows what it uses: worker, harness, model, commits,
        skill, MCP servers, network and enforced limits.
      </EmptyState>
    );
  }
  const { environment, repositories = [], skill, skills_used = [], mcp_servers = [], network } = receipt;
  return (
    <div className="mx-auto max-w-4xl">
      <Section title="What ran" lead="As reported by the worker of the latest turn.">
        <Facts>
          <Fact name="Worker">
            {receipt.worker}, version {receipt.harness_version}
          </Fact>
          <Fact name="Harness">
            <UsedHarness harness={receipt.harness} />
          </Fact>
          <Fact name="Model">{receipt.model_id}</Fact>
          {receipt.reasoning_effort && <Fact name="Reasoning effort">{receipt.reasoning_effort}</Fact>}
          {receipt.sandbox && <Fact name="Sandbox">{describeSandbox(receipt.sandbox)}</Fact>}
          <Fact name="Environment">
            {environment ? (
              <>
                version {environment.version} of <Code>{environment.environment_id}</Code>
                {environment.build_id ? (
                  <>
                    , build <Code>{environment.build_id}</Code>
                  </>
                ) : (
                  " (no build needed)"
                )}
              </>
            ) : (
              "None (empty workspace)"
            )}
          </Fact>
          <Fact name="Network">
            {networkLabels[network.mode]}
            {network.allow && network.allow.length > 0 && <Code> {network.allow.join(", ")}</Code>}
            {network.presets?.map(({ preset, hosts }) => (
              <span key={preset} className="block text-xs text-muted">
                {preset}: {hosts.length > 0 ? hosts.join(", ") : "nothing"}
              </span>
            ))}
          </Fact>
          <Fact name="Skill">
            {skill ? (
              <>
                {skill.name}, from <Code>{skill.repository}</Code> at <Code>{skill.commit}</Code>,{" "}
                <Code>{skill.path}</Code> (requested as <Code>{skill.skill_spec}</Code>)
              </>
            ) : (
              "None"
            )}
          </Fact>
          {skills_used.length > 0 && (
            <Fact name="Skills used">
              {skills_used.map(({ name, commit, skill_spec }, index) => (
                <span key={skill_spec}>
                  {index > 0 && ", "}
                  {name} (<Code>{skill_spec}</Code> at <Code>{commit}</Code>)
                </span>
              ))}
            </Fact>
          )}
        </Facts>
      </Section>
      <Section title="Repositories">
        {repositories.length === 0 && <p className="text-muted">No repositories were checked out.</p>}
        <Facts>
          {repositories.map(({ url, ref, commit, path }) => (
            <Fact key={path} name={path}>
              <Code>{url}</Code> {ref && <>at {ref}, </>}commit <Code>{commit}</Code>
            </Fact>
          ))}
        </Facts>
      </Section>
      <Section title="MCP servers">
        {mcp_servers.length === 0 && <p className="text-muted">No MCP servers were connected.</p>}
        <Facts>
          {mcp_servers.map(({ name, transport, server, tools }) => (
            <Fact key={name} name={name}>
              {server ?? "Unnamed server"}, over {transport}; {tools.length}{" "}
              {tools.length === 1 ? "tool" : "tools"}
              {tools.length > 0 && <Code>: {tools.join(", ")}</Code>}
            </Fact>
          ))}
        </Facts>
      </Section>
      <Limits resources={receipt.resources} />
    </div>
  );
}

function UsedHarness({ harness }: { harness: RunReceipt["harness"] }) {
  if (!harness) return "Outrider, the worker's built-in agent";
  const { title, version, packages = {}, adapter } = harness;
  return (
    <>
      {sanitizeLine([title, version].filter(Boolean).join(" "))}
      {adapter && (
        <>
          , through <Code>{sanitizeLine(adapter)}</Code>
        </>
      )}
      {Object.entries(packages).map(([name, packageVersion]) => (
        <span key={name} className="block">
          <Code>
            {name}@{packageVersion}
          </Code>
        </span>
      ))}
    </>
  );
}

/** Beside the first line of the text. */
const limitIcon = "mt-[3px] size-3.5 shrink-0";

function Limits({ resources }: { resources: RunReceipt["resources"] | undefined }) {
  return (
    <Section title="Sandbox limits" lead="Each limit and whether it was enforced.">
      {!resources && <p className="text-muted">No sandbox was created.</p>}
      <Facts>
        {Object.entries(resources ?? {}).map(([name, { limit, enforced, by, reason }]) => (
          <Fact key={name} name={resourceLabel(name).name}>
            <span className="flex flex-wrap items-center gap-x-2">
              {limit !== undefined && resourceLabel(name).amount(limit)}
              {enforced ? (
                <span className="inline-flex items-start gap-1 text-good">
                  <CircleCheck className={limitIcon} aria-hidden />
                  enforced{by && ` by ${by}`}
                </span>
              ) : (
                <span className="inline-flex items-start gap-1 text-warn">
                  <TriangleAlert className={limitIcon} aria-hidden />
                  not enforced{reason && `: ${reason}`}
                </span>
              )}
            </span>
          </Fact>
        ))}
      </Facts>
    </Section>
  );
}

function Facts({ children }: { children: ReactNode }) {
  return <dl className="flex flex-col gap-2">{children}</dl>;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="gap-4 sm:grid sm:grid-cols-[10rem_minmax(0,1fr)]">
      <dt className="break-words text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}

function Code({ children }: { children: ReactNode }) {
  return <code className="break-all font-mono text-xs">{children}</code>;
}
