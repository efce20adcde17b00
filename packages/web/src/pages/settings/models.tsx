import type { Model } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { count, dollars } from "../../ui/amount.ts";
import { Badge } from "../../ui/badge.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Section } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { ModelSetup } from "./model-setup.tsx";

export function Models() {
  const { data, error, refetch } = useQuery(queries.models());
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading models" />;
  const usable = data.models.filter(({ available }) => available);
  const others = data.models.filter(({ available }) => !available);
  return (
    <>
      <ModelTable label="Models that can be used" models={usable} standard={data.default_model_id} />
      <div className="h-6" />
      <Section title="Configure a provider" lead="Keys belong to the server and never reach a sandbox.">
        <ModelSetup />
      </Section>
      {others.length > 0 && (
        <Disclosure
          summary={`${others.length} more that ${others.length === 1 ? "is" : "are"} not configured`}
        >
          <ModelTable
            label="Models that are not configured"
            models={others}
            standard={data.default_model_id}
          />
        </Disclosure>
      )}
    </>
  );
}

function ModelTable({ label, models, standard }: { label: string; models: Model[]; standard: string }) {
  return (
    <Table
      label={label}
      head={
        <>
          <Th>Model</Th>
          <Th className="text-right max-sm:hidden">Context</Th>
          <Th className="text-right max-sm:hidden">Input / output</Th>
        </>
      }
    >
      {models.map((model) => (
        <tr key={model.model_id}>
          <Td>
            <div className="flex flex-wrap items-center gap-2">
              <span className="font-mono text-xs font-medium break-all">{model.model_id}</span>
              {model.model_id === standard && <Badge tone="accent">Default</Badge>}
              {model.alias_of && <Badge>means {model.alias_of}</Badge>}
              {model.sees_images && <Badge>sees images</Badge>}
            </div>
            <p className="mt-0.5 text-xs break-words text-muted">
              {model.reason ?? model.description ?? `From ${model.provider}.`}
            </p>
            <p className="mt-0.5 text-xs text-muted sm:hidden">
              {count(model.context_tokens)} tokens · {priceOf(model)}
            </p>
          </Td>
          <Td className="text-right whitespace-nowrap tabular-nums max-sm:hidden">
            {count(model.context_tokens)} tokens
          </Td>
          <Td className="text-right whitespace-nowrap text-muted tabular-nums max-sm:hidden">
            {priceOf(model)}
          </Td>
        </tr>
      ))}
    </Table>
  );
}

function priceOf({ prices }: Model): string {
  if (!prices) return "price unknown";
  const { input_usd_per_mtok: input, output_usd_per_mtok: output } = prices;
  return `${dollars(input)} / ${dollars(output)} per M`;
}
