import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../../api.ts";
import { queries, queryClient } from "../../../queries.ts";

/** The server waits for the model for up to 20 seconds. */
const TIMEOUT_MS = 60_000;

/** Calls a model of a provider. */
export function useProviderTest() {
  return useMutation({
    mutationFn: ({ name, model }: { name: string; model?: string | undefined }) =>
      outrider.modelProviders.test(name, model ? { model } : {}, { timeout: TIMEOUT_MS, maxRetries: 0 }),
    onSettled: () => queryClient.invalidateQueries(queries.modelProviders()),
  });
}

/** Reads everything again that depends on providers. */
export async function refreshModels(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(queries.modelProviders()),
    queryClient.invalidateQueries(queries.modelSettings()),
    queryClient.invalidateQueries(queries.models()),
    queryClient.invalidateQueries(queries.harnesses()),
  ]);
}
