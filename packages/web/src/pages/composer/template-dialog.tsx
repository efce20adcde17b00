import { fillTemplate, renderTemplate } from "@outrider/contract/template-text";
import type { Template, TemplateVariable } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Field, Select, TextArea, TextInput } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { sanitize, sanitizeLine } from "../../ui/text/sanitize.ts";
import { TemplateSheet } from "../templates/template-sheet.tsx";
import { valuesOfDraft } from "../templates/template-values.ts";
import type { Draft } from "./draft.ts";

interface TemplateDialogProps {
  draft: Draft;
  /** The template to start with. If absent, the user chooses one. */
  templateId?: string | undefined;
  onUse: (part: Partial<Draft>) => void;
  onClose: () => void;
}

/** Lets the user choose a template and enter its variables, or save the draft as a template. */
export function TemplateDialog({ draft, templateId, onUse, onClose }: TemplateDialogProps) {
  const { data: templates, error } = useQuery(queries.templates());
  const [chosenId, setChosenId] = useState(templateId);
  const [isSaving, setSaving] = useState(false);
  const chosen = templates?.find(({ template_id }) => template_id === chosenId);
  if (isSaving) return <TemplateSheet values={valuesOfDraft(draft)} onClose={onClose} />;
  if (chosen)
    return (
      <TemplateVariables
        template={chosen}
        replaces={draft.prompt.trim() !== ""}
        onBack={() => setChosenId(undefined)}
        onUse={(prompt) => {
          onUse({ ...draftPart(chosen), prompt });
          onClose();
        }}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Templates"
      description="Start from a prompt that your team shares."
      footer={
        <>
          <Link to="/templates" className="mr-auto self-center text-muted underline underline-offset-2">
            Manage templates
          </Link>
          <Button disabled={draft.prompt.trim() === ""} onClick={() => setSaving(true)}>
            Save prompt as template
          </Button>
        </>
      }
    >
      {error ? (
        <ErrorAlert error={error} />
      ) : !templates ? (
        <SkeletonRows rows={3} label="Loading templates" />
      ) : (
        <TemplateList templates={templates} onChoose={setChosenId} />
      )}
    </Dialog>
  );
}

interface TemplateListProps {
  templates: readonly Template[];
  onChoose: (templateId: string) => void;
}

const MIN_SEARCHABLE = 8;

function TemplateList({ templates, onChoose }: TemplateListProps) {
  const [query, setQuery] = useState("");
  if (templates.length === 0)
    return (
      <p className="text-muted">
        No templates yet. Type a prompt, write {"{{name}}"} for a part that changes, and save it as a
        template.
      </p>
    );
  const shown = templates.filter(({ name, description = "" }) =>
    `${name} ${description}`.toLowerCase().includes(query.trim().toLowerCase()),
  );
  return (
    <>
      {templates.length > MIN_SEARCHABLE && (
        <TextInput
          type="search"
          data-autofocus
          aria-label="Search templates"
          placeholder="Search templates"
          className="mb-2"
          value={query}
          onChange={({ target }) => setQuery(target.value)}
        />
      )}
      {shown.length === 0 && <p className="text-muted">No matching templates</p>}
      <ul className="-mx-2 flex flex-col">
        {shown.map(({ template_id, name, description, prompt }) => (
          <li key={template_id}>
            <button
              type="button"
              className="flex w-full flex-col rounded-md px-2 py-2 text-left hover:bg-raised"
              onClick={() => onChoose(template_id)}
            >
              <span className="font-medium">{sanitizeLine(name)}</span>
              <span className="line-clamp-2 text-xs text-muted">{sanitize(description ?? prompt)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

interface TemplateVariablesProps {
  template: Template;
  /** Whether the form has a prompt that the template replaces. */
  replaces: boolean;
  onBack: () => void;
  onUse: (prompt: string) => void;
  onClose: () => void;
}

function TemplateVariables({ template, replaces, onBack, onUse, onClose }: TemplateVariablesProps) {
  const id = useId();
  const { name, prompt, variables } = template;
  const [given, setGiven] = useState<Record<string, string>>({});
  const [wasSent, setWasSent] = useState(false);
  const { values, missing, invalid } = fillTemplate(
    variables,
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")),
  );
  const errorOf = (variable: string) => {
    if (!wasSent) return undefined;
    if (missing.includes(variable)) return "needs a value";
    return invalid.includes(variable) ? "must be one of the allowed values" : undefined;
  };
  const send = () => {
    setWasSent(true);
    if (missing.length + invalid.length === 0) onUse(renderTemplate(prompt, values));
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={sanitizeLine(name)}
      description={template.description && sanitize(template.description)}
      footer={
        <>
          <Button className="mr-auto" variant="quiet" onClick={onBack}>
            All templates
          </Button>
          <Button type="submit" form={id} variant="primary">
            Use template
          </Button>
        </>
      }
    >
      <Form id={id} onSubmit={send} className="flex flex-col gap-4">
        {variables.map((variable, at) => (
          <VariableField
            key={variable.name}
            variable={variable}
            isFirst={at === 0}
            value={given[variable.name] ?? ""}
            error={errorOf(variable.name)}
            onChange={(value) => setGiven({ ...given, [variable.name]: value })}
          />
        ))}
        <div>
          <h3 className="text-xs text-muted">Prompt</h3>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
            tabIndex={0}
            className="mt-1 max-h-48 overflow-y-auto rounded-lg border border-line bg-code p-3 font-mono text-xs break-words whitespace-pre-wrap"
          >
            {sanitize(renderTemplate(prompt, values))}
          </pre>
        </div>
        {replaces && <p className="text-xs text-muted">This replaces the prompt that you typed.</p>}
      </Form>
    </Dialog>
  );
}

interface VariableFieldProps {
  variable: TemplateVariable;
  isFirst: boolean;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function VariableField({ variable, isFirst, value, error, onChange }: VariableFieldProps) {
  const { name, description, default: preset, options } = variable;
  const autofocus = isFirst ? { "data-autofocus": true } : {};
  return (
    <Field label={name} hint={description} error={error}>
      {(parts) =>
        options ? (
          <Select {...parts} value={value} onChange={({ target }) => onChange(target.value)}>
            <option value="">{preset === undefined ? "Choose a value" : `Default (${preset})`}</option>
            {options.map((option) => (
              <option key={option} value={option}>
                {option}
              </option>
            ))}
          </Select>
        ) : (
          <TextArea
            {...parts}
            {...autofocus}
            rows={1}
            value={value}
            placeholder={preset}
            onChange={({ target }) => onChange(target.value)}
            className="field-sizing-content max-h-40 min-h-9!"
          />
        )
      }
    </Field>
  );
}

/** Returns the settings of the template that the form also has. */
function draftPart({ config = {} }: Template): Partial<Draft> {
  const { environment_id, harness, model_id, skill_spec, base_prompt, name, reasoning_effort } = config;
  const part = { environment_id, harness, model_id, skill_spec, base_prompt, name, reasoning_effort };
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
}
