import type { Model, ModelProvider } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Cpu, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { loadPart } from "../../frame/connection.ts";
import { queries } from "../../queries.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { formatCount, formatDollars } from "../../ui/format/numbers.ts";
import { NewRunLink } from "../../ui/new-run-link.tsx";
import { Section } from "../../ui/page.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { DefaultModel } from "./models/default-model.tsx";
import { ProviderCard } from "./models/provider-card.tsx";

const ProviderSheet = lazy(() =>
  loadPart(() => import("./models/provider-sheet.tsx")).then((it) => ({ default: it.ProviderSheet })),
);

/** Connects providers and shows the models that they offer. Members see it without the buttons. */
export function Models() {
  const { data: me } = useQuery(queries.me());
  const models = useQuery(queries.models());
  const providers = useQuery(queries.modelProviders());
  const settings = useQuery(queries.modelSettings());
  const [opened, setOpened] = useState<{ provider?: ModelProvider }>();
  const isAdmin = me?.role === "admin";
  const error = models.error ?? providers.error ?? settings.error;
  if (error) {
    const retry = () => void Promise.all([models.refetch(), providers.refetch(), settings.refetch()]);
    return <ErrorAlert error={error} onRetry={retry} />;
  }
  if (!models.data || !providers.data || !settings.data) return <SkeletonRows label="Loading models" />;
  const { default_model_id: standard } = models.data;
  const usable = models.data.models.filter(({ available }) => available);
  const add = isAdmin && (
    <Button
      variant={providers.data.length === 0 ? "primary" : "plain"}
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => setOpened({})}
    >
      Add provider
    </Button>
  );
  return (
    <>
      {providers.data.length === 0 ? (
        <div className="mb-6">
          <EmptyState
            icon={<Cpu className="size-5" aria-hidden />}
            title="No model connected"
            action={add || <NewRunLink />}
          >
            Until {isAdmin ? "you connect" : "an admin connects"} a provider, runs use “scripted”, which is
            not an LLM: it executes the lines of the prompt. Keys stay on the server and never enter a
            sandbox.
          </EmptyState>
        </div>
      ) : (
        <section aria-labelledby="providers" className="mb-6 flex flex-col gap-3">
          <div className="flex flex-wrap items-center gap-3">
            <h2 id="providers" className="min-w-0 flex-1 font-semibold">
              Providers
            </h2>
            {add}
          </div>
          <ul className="flex flex-col gap-3">
            {providers.data.map((provider) => (
              <ProviderCard
                key={provider.name}
                provider={provider}
                isAdmin={isAdmin}
                onEdit={() => setOpened({ provider })}
              />
            ))}
          </ul>
        </section>
      )}
      {isAdmin && providers.data.length > 0 && (
        <Section title="Default and aliases" lead="Changes apply to new runs, on all servers at once.">
          <DefaultModel settings={settings.data} models={models.data.models} />
        </Section>
      )}
      <ModelTable label="Available models" models={usable} standard={standard} />
      <Suspense>
        {opened && (
          <ProviderSheet
            provider={opened.provider}
            taken={providers.data.map(({ name }) => name)}
            onClose={() => setOpened(undefined)}
          />
        )}
      </Suspense>
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
