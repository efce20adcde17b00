import type { Model } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Badge } from "../../ui/badge.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { formatCount, formatDollars } from "../../ui/format/numbers.ts";
import { Section } from "../../ui/page.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { ModelSetup } from "./model-setup.tsx";

export function Models() {
  const { data, error, refetch } = useQuery(queries.models());
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading models" />;
  const usable = data.models.filter(({ available }) => available);
  const others = data.models.filter(({ available }) => !available);
  return (
    <>
      <ModelTable label="Available models" models={usable} standard={data.default_model_id} />
      <div className="h-6" />
      <Section
        title="Configure a provider"
        lead="Provider keys stay on the server and never reach a sandbox."
      >
        <ModelSetup />
      </Section>
      {others.length > 0 && (
        <Disclosure summary={`${others.length} not configured`}>
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
              {model.alias_of && <Badge>alias of {model.alias_of}</Badge>}
              {model.supports_images && <Badge>vision</Badge>}
            </div>
            <p className="mt-0.5 text-xs break-words text-muted">
              {model.reason ?? model.description ?? `Provider: ${model.provider}`}
            </p>
            <p className="mt-0.5 text-xs text-muted sm:hidden">
              {formatCount(model.context_tokens)} tokens · {priceOf(model)}
            </p>
          </Td>
          <Td className="text-right whitespace-nowrap tabular-nums max-sm:hidden">
            {formatCount(model.context_tokens)} tokens
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
  if (!prices) return "Price unknown";
  const { input_usd_per_mtok: input, output_usd_per_mtok: output } = prices;
  return `${formatDollars(input)} / ${formatDollars(output)} per M`;
}
