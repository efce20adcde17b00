import type { CancelRunsRequest, RunItem } from "@outrider/sdk";

type Filter = NonNullable<CancelRunsRequest["filter"]>;
type State = NonNullable<Filter["state"]>[number];

export const openStates: readonly State[] = ["QUEUED", "INPROGRESS", "BLOCKED"];

/** What stands in the form; empty means any. */
export interface CancelDraft {
  states: readonly State[];
  name: string;
  creator: string;
  environment: string;
  source: "" | RunItem["source"];
}

export const anyRun: CancelDraft = { states: [], name: "", creator: "", environment: "", source: "" };

/** In the words of the API, which the list of runs and the command line know as well. */
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

export function counted(amount: number): string {
  return amount === 1 ? "1 run" : `${amount} runs`;
}
