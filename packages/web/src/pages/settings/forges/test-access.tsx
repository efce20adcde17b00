import { RepositoryFullName } from "@outrider/contract/forge";
import type { Forge, ForgeTestStep } from "@outrider/sdk";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleDashed, CircleX, LoaderCircle } from "lucide-react";
import { useDeferredValue, useId, useState } from "react";
import { outrider } from "../../../api.ts";
import { queries, queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Field, TextInput } from "../../../ui/form/field.tsx";
import { Form } from "../../../ui/form/form.tsx";
import { Dialog } from "../../../ui/overlay/dialog.tsx";
import { InlineCode } from "../../../ui/text/inline-code.tsx";
import { stepLabels } from "./forge-labels.ts";

/** Pushing and opening a pull request can take longer than other requests. */
const TEST_TIMEOUT_MS = 180_000;

/** Lets the user choose a repository, and tests what Outrider can do with it. */
export function TestAccess({ forge, onClose }: { forge: Forge; onClose: () => void }) {
  const id = useId();
  const [repository, setRepository] = useState(forge.last_test?.repository ?? "");
  const test = useMutation({
    mutationFn: () =>
      outrider.forges.test(
        forge.forge_id,
        { repository: repository.trim() },
        { timeout: TEST_TIMEOUT_MS, maxRetries: 0 },
      ),
    onSettled: () => queryClient.invalidateQueries(queries.forges()),
  });
  const isValid = RepositoryFullName.safeParse(repository.trim()).success;
  const [wasSent, setWasSent] = useState(false);
  const submit = () => {
    setWasSent(true);
    if (isValid && !test.isPending) test.mutate();
  };
  const result = test.data;
  return (
    <Dialog
      open
      keepOpen
      onClose={onClose}
      title={`Test access to ${forge.host}`}
      description="Pushes a scratch branch with one commit, opens and closes a draft pull request, and deletes the branch."
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button variant="primary" type="submit" form={id} busy={test.isPending}>
            {result ? "Test again" : "Test access"}
          </Button>
        </>
      }
    >
      <Form id={id} onSubmit={submit} className="flex flex-col gap-4">
        <RepositoryPicker
          forge={forge}
          value={repository}
          error={wasSent && !isValid ? "must be an owner and a name, such as `acme/api`" : undefined}
          onChange={(next) => {
            setRepository(next);
            test.reset();
          }}
        />
        {test.isError && <ErrorAlert error={test.error} />}
        <div role="status">
          {(test.isPending || result) && (
            <ol aria-label="Steps" className="flex flex-col gap-2">
              {result
                ? result.steps.map((step) => <Step key={step.step} step={step} />)
                : Object.entries(stepLabels).map(([step, label], at) => (
                    <li key={step} className="flex items-center gap-2 text-muted">
                      {at === 0 ? (
                        <LoaderCircle className="size-4 animate-spin" aria-hidden />
                      ) : (
                        <CircleDashed className="size-4" aria-hidden />
                      )}
                      {label}
                    </li>
                  ))}
            </ol>
          )}
          {result?.ok && (
            <p className="mt-3 rounded-lg bg-good-soft px-3 py-2 text-good">
              Runs can publish to {result.repository}.
            </p>
          )}
        </div>
      </Form>
    </Dialog>
  );
}

function Step({ step: { step, ok, message, remedy } }: { step: ForgeTestStep }) {
  const Icon = ok ? CircleCheck : CircleX;
  return (
    <li className="flex items-start gap-2">
      <Icon className={`mt-0.5 size-4 shrink-0 ${ok ? "text-good" : "text-bad"}`} aria-hidden />
      <div className="min-w-0 flex-1 break-words">
        <p className="font-medium">
          {stepLabels[step]}
          <span className="sr-only">: {ok ? "passed" : "failed"}</span>
        </p>
        <p className="text-muted">
          <InlineCode text={message} />
        </p>
        {remedy && (
          <p>
            <InlineCode text={remedy} />
          </p>
        )}
      </div>
    </li>
  );
}

interface RepositoryPickerProps {
  forge: Forge;
  value: string;
  error: string | undefined;
  onChange: (repository: string) => void;
}

/** Suggests the repositories that Outrider can use. Others can be typed. */
function RepositoryPicker({ forge, value, error: invalid, onChange }: RepositoryPickerProps) {
  const list = useId();
  const asked = useDeferredValue(value.trim());
  const { data, error, isFetching } = useQuery({
    queryKey: ["forges", forge.forge_id, "repositories", asked],
    queryFn: ({ signal }) =>
      outrider.forges.repositories(forge.forge_id, asked ? { q: asked.slice(0, 100) } : {}, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
  const found = data?.repositories ?? [];
  return (
    <>
      <Field
        label="Repository"
        error={invalid}
        hint={
          isFetching
            ? "Loading repositories…"
            : found.length === 0 && !error
              ? forge.install_url
                ? "No repository found. Install the app in repositories first, or type owner/name."
                : "No repository found. Type owner/name."
              : "Choose one, or type owner/name."
        }
      >
        {(parts) => (
          <TextInput
            {...parts}
            data-autofocus
            list={list}
            value={value}
            placeholder="acme/api"
            spellCheck={false}
            onChange={({ target }) => onChange(target.value)}
          />
        )}
      </Field>
      <datalist id={list}>
        {found.map(({ repository, can_push }) => (
          <option key={repository} value={repository}>
            {can_push ? "" : "read-only"}
          </option>
        ))}
      </datalist>
      {error && <ErrorAlert error={error} />}
    </>
  );
}
