import type { Model } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { offeredModels, useHarness } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { formatDollars } from "../../ui/format/numbers.ts";
import { SCRIPTED } from "../welcome/first-run.ts";
import { InlineSelect } from "./inline-select.tsx";

interface ModelSelectProps {
  value: string;
  /** The name of the harness that would execute the run. */
  harness: string;
  error: string | undefined;
  onChange: (modelId: string) => void;
}

/** Offers the models that work with the harness. */
export function ModelSelect({ value, harness: name, error, onChange }: ModelSelectProps) {
  const { data } = useQuery(queries.models());
  const models = offeredModels(data?.models ?? [], useHarness(name));
  const isUnlisted = value !== "" && !models.some(({ model_id }) => model_id === value);
  return (
    <InlineSelect label="Model" value={value} error={error} onChange={onChange}>
      <option value="">{data ? `Default model (${data.default_model_id})` : "Default model"}</option>
      {isUnlisted && <option value={value}>{value}</option>}
      {models.map(({ model_id, available }) => (
        <option key={model_id} value={model_id}>
          {available ? model_id : `${model_id} (not available)`}
        </option>
      ))}
    </InlineSelect>
  );
}

/** Describes the selected model and its price, or explains why the model is unavailable. */
export function ModelNote({ value }: { value: string }) {
  const { data } = useQuery(queries.models());
  const model = data?.models.find(({ model_id }) => model_id === (value || data.default_model_id));
  // The form explains the scripted model where the prompt is written.
  return model && model.model_id !== SCRIPTED && noteOf(model);
}

function noteOf(model: Model) {
  const { available, reason, prices, description, provider } = model;
  if (!available) return <span className="text-warn">Unavailable: {reason}</span>;
  const costs =
    prices && prices.input_usd_per_mtok + prices.output_usd_per_mtok > 0
      ? `${formatDollars(prices.input_usd_per_mtok)} per million input tokens, ${formatDollars(prices.output_usd_per_mtok)} per million output tokens`
      : prices
        ? "Free"
        : `Price unknown; see ${provider}`;
  return [description, `${costs}.`].filter(Boolean).join(" ");
}
