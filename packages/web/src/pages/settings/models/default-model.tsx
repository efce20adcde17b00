import { ModelSettingsRequest } from "@outrider/contract/model-provider";
import type { Model, ModelSettings, ModelSettingsRequest as Request } from "@outrider/sdk";
import { useFieldArray } from "react-hook-form";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { Button } from "../../../ui/button.tsx";
import { SelectField, TextField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { useRequestForm } from "../../../ui/form/use-request-form.ts";
import { refreshModels } from "./use-provider-test.ts";

interface Values {
  default_model_id: string | undefined;
  aliases: { alias: string | undefined; model: string | undefined }[];
}

const blank = { alias: undefined, model: undefined };

/** Chooses the model for runs that name none, and other names for models. */
export function DefaultModel({ settings, models }: { settings: ModelSettings; models: Model[] }) {
  const { aliases, file_aliases, default_source, effective_default_model_id, problems } = settings;
  const isFixed = default_source === "file" || default_source === "variables";
  const form = useRequestForm<Values, Request, ModelSettings>({
    schema: ModelSettingsRequest,
    values: {
      default_model_id: settings.default_model_id,
      aliases: Object.entries(aliases).map(([alias, model]) => ({ alias, model })),
    },
    requestOf: (values) => ({
      default_model_id: values.default_model_id || undefined,
      aliases: Object.fromEntries(values.aliases.map(({ alias = "", model = "" }) => [alias, model])),
    }),
    fieldOf: ([first = "", alias, ...rest], values) => {
      if (first !== "aliases" || alias === undefined) return [first, ...rest];
      const index = values.aliases.findIndex((row) => (row.alias ?? "") === alias);
      return [first, String(index), values.aliases[index]?.alias ? "model" : "alias"];
    },
    send: (request) => outrider.modelSettings.set(request),
    async onSent() {
      await refreshModels();
      showToast("Models saved");
      form.reset(form.getValues());
    },
  });
  const rows = useFieldArray({ control: form.control, name: "aliases" });
  const options = models.filter(({ available }) => available);
  const chosen = form.watch("default_model_id");
  const isUnlisted = chosen && !options.some(({ model_id }) => model_id === chosen);
  return (
    <form {...form.attributes} className="flex flex-col gap-4">
      {isFixed ? (
        <p>
          Runs use <code className="font-mono text-xs">{effective_default_model_id}</code> by default, as{" "}
          {default_source === "file" ? "the models file" : "an environment variable"} of the server says.
        </p>
      ) : (
        <SelectField label="Default model" {...form.select("default_model_id")}>
          <option value="">Automatic ({effective_default_model_id})</option>
          {isUnlisted && <option value={chosen}>{chosen}</option>}
          {options.map(({ model_id }) => (
            <option key={model_id} value={model_id}>
              {model_id}
            </option>
          ))}
        </SelectField>
      )}
      <fieldset className="flex flex-col gap-2">
        <legend className="pb-1 font-medium">Aliases</legend>
        <p className="text-xs text-muted">
          Other names for models, such as “fast”. A run keeps the model that its alias meant when it was
          created.
        </p>
        <Rows noun="alias" rows={rows} unordered onAdd={() => rows.append(blank, { shouldFocus: false })}>
          {(index) => (
            <div className="grid gap-2 sm:grid-cols-2">
              <TextField
                compact
                label="Alias"
                {...form.field(`aliases.${index}.alias`)}
                placeholder="fast"
                spellCheck={false}
              />
              <TextField
                compact
                label="Model"
                {...form.field(`aliases.${index}.model`)}
                placeholder="anthropic/claude-sonnet-5-5"
                spellCheck={false}
              />
            </div>
          )}
        </Rows>
        {Object.entries(file_aliases).map(([alias, model]) => (
          <p key={alias} className="text-xs text-muted">
            <code className="font-mono">{alias}</code> means <code className="font-mono">{model}</code>{" "}
            (models file)
          </p>
        ))}
      </fieldset>
      {problems.map((problem) => (
        <p key={problem} className="text-xs text-warn">
          {problem}
        </p>
      ))}
      <FormErrors form={form} visuallyHidden />
      <div>
        <Button type="submit" busy={form.isBusy} disabled={!form.isDirty}>
          Save
        </Button>
      </div>
    </form>
  );
}
