import { PublicationRequest } from "@outrider/contract/publication";
import type { Publication, PublicationRequest as Request } from "@outrider/sdk";
import { useId } from "react";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queries, queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { SelectField, TextAreaField, TextField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../../ui/form/use-request-form.ts";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { Dialog } from "../../../ui/overlay/dialog.tsx";
import { shortAddress } from "../../environments/repository.ts";
import {
  allowedKinds,
  countFiles,
  kindLabels,
  type PublicationKind,
  type Publishable,
} from "./publications.ts";

interface PublishDialogProps {
  runId: string;
  items: Publishable[];
  path: string;
  kind?: PublicationKind;
  retried?: Publication;
  onClose: () => void;
}

interface Values {
  path: string;
  kind: PublicationKind;
  title: string | undefined;
  body: string | undefined;
  /** Names, separated by commas. */
  labels: string | undefined;
  reviewers: string | undefined;
  issues: string | undefined;
}

const lists = ["labels", "reviewers", "issues"] as const;

export function listOf(text: string | undefined): string[] | undefined {
  const names = (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return names.length > 0 ? names : undefined;
}

/** Labels and the like belong to pull requests, so a branch has none. */
function requestOf({ path, kind, title, body, ...rest }: Values) {
  const given = lists.map((name) => [name, kind === "branch" ? undefined : listOf(rest[name])] as const);
  const filled = given.filter(([, names]) => names !== undefined);
  return { path, kind, title, ...(kind === "branch" ? {} : { body }), ...Object.fromEntries(filled) };
}

/** Shows the form for a branch or pull request with the run's changes. */
export function PublishDialog({ runId, items, path, kind, retried, onClose }: PublishDialogProps) {
  const id = useId();
  const start = items.find((item) => item.path === path) ?? items[0];
  const startKinds = start ? allowedKinds(start) : [];
  const form = useRequestForm({
    schema: PublicationRequest,
    values: {
      path: start?.path ?? path,
      kind: kind && startKinds.includes(kind) ? kind : (startKinds[0] ?? "branch"),
      title: retried?.title ?? start?.title,
      body: start?.body,
      labels: undefined,
      reviewers: undefined,
      issues: undefined,
    } as Values,
    requestOf,
    fieldOf: ([name = ""]) => [name],
    send: (request: Request) => outrider.publications.create(runId, request),
    async onSent({ state }) {
      await queryClient.invalidateQueries(queries.publications(runId));
      showToast(state === "AWAITING_APPROVAL" ? "Waiting for approval" : "Publishing started");
      onClose();
    },
  });
  const selected = items.find((item) => item.path === form.watch("path")) ?? start;
  const isBranch = form.watch("kind") === "branch";
  if (!selected) return null;
  const action = isBranch ? "Push branch" : "Create pull request";
  return (
    <Dialog
      open
      keepOpen
      sheet
      onClose={onClose}
      title={action}
      description={
        <>
          Pushes {countFiles(selected.files_changed)} ({formatBytes(selected.diff_bytes)}) to{" "}
          <span className="font-mono text-xs break-all text-ink">{selected.branch}</span> of{" "}
          <span className="text-ink">{shortAddress(selected.repository)}</span>
          {!isBranch && selected.base && (
            <>
              , to be merged into{" "}
              <span className="font-mono text-xs break-all text-ink">{selected.base}</span>
            </>
          )}
          .
        </>
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={id} busy={form.isBusy}>
            {action}
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-4">
        {items.length > 1 && (
          <SelectField
            label="Repository"
            {...form.select("path")}
            onChange={({ target }) => {
              const next = items.find((item) => item.path === target.value);
              if (!next) return;
              form.setValue("path", next.path);
              form.setValue("title", next.title);
              form.setValue("body", next.body);
              form.setValue("kind", allowedKinds(next)[0] ?? "branch");
            }}
          >
            {items.map((item) => (
              <option key={item.path} value={item.path}>
                {shortAddress(item.repository)} ({item.path})
              </option>
            ))}
          </SelectField>
        )}
        <SelectField
          label="Create"
          {...form.select("kind")}
          hint="The environment's policy sets the choices."
        >
          {allowedKinds(selected).map((each) => (
            <option key={each} value={each}>
              {kindLabels[each]}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Title"
          {...form.field("title")}
          data-autofocus
          hint={isBranch ? "Names the commit of changes that the agent did not commit." : undefined}
        />
        {!isBranch && (
          <>
            <TextAreaField
              label="Description"
              {...form.field("body", parseVerbatim)}
              optional
              rows={10}
              className="text-sm"
              hint="Outrider adds the commands that verified the changes, the cost and a link to this run."
            />
            <div className="grid gap-4 sm:grid-cols-2">
              <TextField label="Labels" {...form.field("labels")} optional placeholder="bug, backend" />
              <TextField label="Reviewers" {...form.field("reviewers")} optional placeholder="octocat" />
            </div>
            <TextField
              label="Closes issues"
              {...form.field("issues")}
              optional
              placeholder="#12, #15"
              hint="Separate several with commas."
            />
          </>
        )}
        <FormErrors form={form} visuallyHidden />
      </form>
    </Dialog>
  );
}
