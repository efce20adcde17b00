import type { Model } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { dollars } from "../../ui/amount.ts";
import { Choice } from "./choice.tsx";

interface ModelChoiceProps {
  value: string;
  error: string | undefined;
  onChange: (modelId: string) => void;
}

export function ModelChoice({ value, error, onChange }: ModelChoiceProps) {
  const { data } = useQuery(queries.models());
  const models = data?.models ?? [];
  const isUnlisted = value !== "" && !models.some(({ model_id }) => model_id === value);
  return (
    <Choice label="Model" value={value} error={error} onChange={onChange}>
      <option value="">{data ? `Default model (${data.default_model_id})` : "Default model"}</option>
      {isUnlisted && <option value={value}>{value}</option>}
      {models.map(({ model_id, available }) => (
        <option key={model_id} value={model_id}>
          {available ? model_id : `${model_id} (not available)`}
        </option>
      ))}
    </Choice>
  );
}

/** What the chosen model is and costs, or why it cannot be used. */
export function ModelNote({ value }: { value: string }) {
  const { data } = useQuery(queries.models());
  const model = data?.models.find(({ model_id }) => model_id === (value || data.default_model_id));
  return model && noteOf(model);
}

function noteOf(model: Model) {
  const { available, reason, prices, description, provider } = model;
  if (!available) return <span className="text-warn">This model cannot be used: {reason}</span>;
  const costs =
    prices && prices.input_usd_per_mtok + prices.output_usd_per_mtok > 0
      ? `${dollars(prices.input_usd_per_mtok)} for a million tokens in, ${dollars(prices.output_usd_per_mtok)} out`
      : prices
        ? "Costs nothing"
        : `Its price is not known; ${provider} will tell`;
  return [description, `${costs}.`].filter(Boolean).join(" ");
}
