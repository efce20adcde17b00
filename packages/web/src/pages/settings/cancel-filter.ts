import type { CancelRunsRequest, RunItem } from "@outrider/sdk";

type Filter = NonNullable<CancelRunsRequest["filter"]>;
type State = NonNullable<Filter["state"]>[number];

/** The form's values. An empty value matches any run. */
export interface CancelDraft {
  states: readonly State[];
  name: string;
  creator: string;
  environment: string;
  source: "" | RunItem["source"];
}

export const anyRun: CancelDraft = { states: [], name: "", creator: "", environment: "", source: "" };

/** Converts the form's values to an API filter. */
export function filterOf({ states, name, creator, environment, source }: CancelDraft): Filter {
  const label = name.trim();
  return {
    ...(states.length > 0 ? { state: [...states] } : {}),
    ...(label ? { config_name: [label] } : {}),
    ...(creator ? { creator: [creator] } : {}),
    ...(environment ? { environment_id: [environment] } : {}),
    ...(source ? { source: [source] } : {}),
  };
}

export function runCount(amount: number): string {
  return amount === 1 ? "1 run" : `${amount} runs`;
}
