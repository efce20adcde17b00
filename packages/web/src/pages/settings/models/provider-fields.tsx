import type { ModelProviderType } from "@outrider/sdk";
import { useFieldArray } from "react-hook-form";
import { Disclosure } from "../../../ui/disclosure.tsx";
import { SelectField, TextAreaField, TextField } from "../../../ui/form/fields.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { parseNumber, type RequestForm } from "../../../ui/form/use-request-form.ts";
import { typeFacts } from "./provider-labels.ts";
import { blankModel, type ProviderValues } from "./provider-values.ts";

interface ProviderFieldsProps {
  form: RequestForm<ProviderValues>;
  type: ModelProviderType;
  /** Whether a key is stored already. */
  hasKey: boolean;
}

/** The fields that the type of a provider has. */
export function ProviderFields({ form, type, hasKey }: ProviderFieldsProps) {
  const { keyHint, keyUrl, baseUrl } = typeFacts[type];
  const isCompatible = type === "openai-compatible";
  const hint = (
    <>
      {keyHint}{" "}
      {keyUrl && (
        <a href={keyUrl} target="_blank" rel="noopener noreferrer" className="text-accent-ink underline">
          Create a key
        </a>
      )}
    </>
  );
  const key = {
    label: type === "google-vertex" ? "Service account key" : "API key",
    ...form.field("api_key"),
    optional: isCompatible || hasKey,
    hint,
    placeholder: hasKey ? "Leave empty to keep the stored key" : undefined,
    spellCheck: false,
    autoComplete: "off",
  };
  const url = (
    <TextField
      label="Base URL"
      {...form.field("base_url")}
      optional={!isCompatible}
      placeholder={baseUrl ?? (isCompatible ? "http://127.0.0.1:11434/v1" : undefined)}
      hint={
        isCompatible
          ? "Usually ends in /v1. The server and its workers must be able to reach it."
          : "For a gateway or proxy. If it changes, enter the key again."
      }
      inputMode="url"
      spellCheck={false}
    />
  );
  return (
    <>
      {isCompatible && url}
      {type === "amazon-bedrock" && (
        <TextField label="Region" {...form.field("region")} placeholder="eu-central-1" spellCheck={false} />
      )}
      {type === "google-vertex" && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Project" {...form.field("project")} placeholder="my-project" spellCheck={false} />
          <TextField
            label="Location"
            {...form.field("location")}
            placeholder="europe-west4"
            spellCheck={false}
          />
        </div>
      )}
      {type === "azure" && (
        <TextField
          label="Resource name"
          {...form.field("resource_name")}
          placeholder="my-resource"
          hint="The first part of its address: my-resource.openai.azure.com."
          spellCheck={false}
        />
      )}
      {type === "google-vertex" ? (
        <TextAreaField {...key} rows={4} className="font-mono text-xs" />
      ) : (
        <TextField {...key} type="password" />
      )}
      {(isCompatible || !baseUrl) && <OwnModels form={form} type={type} />}
      {!isCompatible && (
        <Disclosure summary="More settings">
          <div className="flex flex-col gap-4 pt-2">
            {url}
            {(type === "openai" || type === "azure") && (
              <SelectField label="API" {...form.select("api")}>
                <option value="">Responses</option>
                <option value="chat">Chat Completions</option>
              </SelectField>
            )}
            {baseUrl && <OwnModels form={form} type={type} />}
          </div>
        </Disclosure>
      )}
    </>
  );
}

function OwnModels({ form, type }: Pick<ProviderFieldsProps, "form" | "type">) {
  const rows = useFieldArray({ control: form.control, name: "models" });
  const { baseUrl, model } = typeFacts[type];
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">Models</legend>
      <p className="text-xs text-muted">
        {baseUrl
          ? "Outrider knows this provider's models and prices. Add a model to override them."
          : "The models to offer, as the provider names them. Without prices, the cost of runs is unknown."}
      </p>
      <Rows noun="model" rows={rows} unordered onAdd={() => rows.append(blankModel, { shouldFocus: false })}>
        {(index) => (
          <div className="grid gap-2 sm:grid-cols-6">
            <TextField
              compact
              label="Name"
              {...form.field(`models.${index}.id`)}
              placeholder={model}
              spellCheck={false}
              fieldClassName="sm:col-span-6"
            />
            <TextField
              compact
              label="Context (tokens)"
              {...form.field(`models.${index}.context_tokens`, parseNumber)}
              placeholder="131072"
              inputMode="numeric"
              fieldClassName="sm:col-span-2"
            />
            <TextField
              compact
              label="Input ($ per million)"
              {...form.field(`models.${index}.input`, parseNumber)}
              placeholder="Unknown"
              inputMode="decimal"
              fieldClassName="sm:col-span-2"
            />
            <TextField
              compact
              label="Output ($ per million)"
              {...form.field(`models.${index}.output`, parseNumber)}
              placeholder="Unknown"
              inputMode="decimal"
              fieldClassName="sm:col-span-2"
            />
          </div>
        )}
      </Rows>
    </fieldset>
  );
}
