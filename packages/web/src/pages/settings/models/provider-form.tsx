import { PutModelProviderRequest } from "@outrider/contract/model-provider";
import type { ModelProvider, ModelProviderType, PutModelProviderRequest as Request } from "@outrider/sdk";
import { useState } from "react";
import { outrider } from "../../../api.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { TextField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../../ui/form/use-request-form.ts";
import { ProviderFields } from "./provider-fields.tsx";
import { freeName } from "./provider-labels.ts";
import { type ProviderValues, requestOf, valuesOf } from "./provider-values.ts";
import { TestResult } from "./test-result.tsx";
import { refreshModels, useProviderTest } from "./use-provider-test.ts";

interface ProviderFormProps {
  type: ModelProviderType;
  /** The provider to edit. Absent for a new one. */
  provider?: ModelProvider | undefined;
  taken: string[];
  /** Hides the name, which is then chosen automatically. */
  hideName?: boolean;
  onClose?: () => void;
}

/** Stores a provider and makes a test call. The result stays visible, so that a wrong key can be corrected at once. */
export function ProviderForm({ type, provider, taken, hideName, onClose }: ProviderFormProps) {
  const [saved, setSaved] = useState(provider);
  const test = useProviderTest();
  const form = useRequestForm<ProviderValues, Request, ModelProvider>({
    schema: PutModelProviderRequest,
    values: { ...valuesOf(provider, type), name: provider?.name ?? freeName(type, taken) },
    requestOf: (values) => requestOf(values, provider?.models ?? []),
    fieldOf: ([first = "", index = "", field = "", ...rest]) =>
      first === "models" && field === "prices"
        ? [first, index, rest[0] === "output_usd_per_mtok" ? "output" : "input"]
        : [first, index, field, ...rest].filter(Boolean),
    check: ({ name }) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/.test(name ?? "")
        ? []
        : [{ pointer: "/name", message: "must be 1 to 32 letters, digits, `.`, `_` and `-`" }],
    send: (request): Promise<ModelProvider> =>
      outrider.modelProviders.put(form.getValues("name") ?? "", request),
    onSent(result) {
      setSaved(result);
      form.setValue("api_key", undefined);
      test.mutate({ name: result.name });
      return refreshModels();
    },
  });
  const isNew = saved === undefined;
  const isTested = test.data !== undefined;
  return (
    <form {...form.attributes} className="flex flex-col gap-4">
      {!hideName && (
        <TextField
          label="Name"
          {...form.field("name")}
          disabled={!isNew}
          hint="The first part of model IDs, such as anthropic/…"
          spellCheck={false}
        />
      )}
      <ProviderFields form={form} type={type} hasKey={saved?.has_key ?? false} />
      <FormErrors form={form} visuallyHidden />
      <div role="status" className="empty:hidden">
        {test.isPending && <p className="text-muted">Saved. Calling a model…</p>}
        {test.data && <TestResult test={test.data} />}
      </div>
      {test.error && <ErrorAlert error={test.error} />}
      <div className="flex flex-wrap justify-end gap-2">
        {onClose && <Button onClick={onClose}>{isTested ? "Close" : "Cancel"}</Button>}
        <Button
          variant={test.data?.ok ? "plain" : "primary"}
          type="submit"
          busy={form.isBusy || test.isPending}
        >
          Save and test
        </Button>
      </div>
    </form>
  );
}
