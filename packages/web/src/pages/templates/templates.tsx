import { templateVariables } from "@outrider/contract/template-text";
import type { Template } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { LayoutTemplate, Pencil, Play, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button, buttonClass, IconButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Confirm } from "../../ui/overlay/confirm.tsx";
import { Page } from "../../ui/page.tsx";
import { sanitize, sanitizeLine } from "../../ui/text/sanitize.ts";
import { emptyDraft } from "../composer/draft.ts";
import { TemplateSheet } from "./template-sheet.tsx";
import { valuesOf, valuesOfDraft } from "./template-values.ts";

type Opened = { action: "create" } | { action: "edit" | "delete"; template: Template };

/** Lists the prompts that the team shares. */
export function Templates() {
  const { data, error, refetch } = useQuery(queries.templates());
  const { data: me } = useQuery(queries.me());
  const [opened, setOpened] = useState<Opened>();
  const close = () => setOpened(undefined);
  const create = (
    <Button
      variant="primary"
      icon={<Plus className="size-4" aria-hidden />}
      onClick={() => setOpened({ action: "create" })}
    >
      New template
    </Button>
  );
  return (
    <Page
      title="Templates"
      lead="Prompts with variables, shared by everyone."
      actions={data && data.length > 0 && create}
    >
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading templates" />
      ) : data.length === 0 ? (
        <EmptyState
          icon={<LayoutTemplate className="size-5" aria-hidden />}
          title="No templates yet"
          action={create}
        >
          Save a prompt that you use often. Write {"{{name}}"} for a part that changes, and choose the
          template in the form for a new run.
        </EmptyState>
      ) : (
        <ul className="divide-y divide-line rounded-xl border border-line bg-surface">
          {data.map((template) => (
            <TemplateRow
              key={template.template_id}
              template={template}
              canChange={me?.role === "admin" || me?.uid === template.owner.uid}
              onOpen={(action) => setOpened({ action, template })}
            />
          ))}
        </ul>
      )}
      {opened?.action === "create" && <TemplateSheet values={valuesOfDraft(emptyDraft)} onClose={close} />}
      {opened?.action === "edit" && (
        <TemplateSheet template={opened.template} values={valuesOf(opened.template)} onClose={close} />
      )}
      {opened?.action === "delete" && <DeleteTemplate template={opened.template} onClose={close} />}
    </Page>
  );
}

interface TemplateRowProps {
  template: Template;
  canChange: boolean;
  onOpen: (action: "edit" | "delete") => void;
}

function TemplateRow({ template, canChange, onOpen }: TemplateRowProps) {
  const name = sanitizeLine(template.name);
  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <h2 className="truncate font-medium">{name}</h2>
        {template.description && (
          <p className="mt-0.5 break-words text-muted">{sanitize(template.description)}</p>
        )}
        <p className="mt-1 line-clamp-2 font-mono text-xs break-words text-muted">
          {sanitize(template.prompt)}
        </p>
        <p className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
          {templateVariables(template.prompt).map((variable) => (
            <Badge key={variable}>{variable}</Badge>
          ))}
          <span>{sanitizeLine(template.owner.display_name)}</span>
          <Time at={template.updated_at} />
        </p>
      </div>
      <div className="flex items-center gap-1">
        <Link to="/" search={{ template: template.template_id }} hash="new-run" className={buttonClass()}>
          <Play className="size-4" aria-hidden />
          Use<span className="sr-only"> {name}</span>
        </Link>
        {canChange && (
          <>
            <IconButton
              label={`Edit ${name}`}
              icon={<Pencil className="size-4" aria-hidden />}
              onClick={() => onOpen("edit")}
            />
            <IconButton
              label={`Delete ${name}`}
              icon={<Trash2 className="size-4" aria-hidden />}
              onClick={() => onOpen("delete")}
            />
          </>
        )}
      </div>
    </li>
  );
}

function DeleteTemplate({ template, onClose }: { template: Template; onClose: () => void }) {
  const deleting = useMutation({
    mutationFn: () => outrider.templates.delete(template.template_id),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["templates"] });
      showToast("Template deleted");
      onClose();
    },
  });
  return (
    <Confirm
      title={`Delete ${sanitizeLine(template.name)}?`}
      action="Delete template"
      busy={deleting.isPending}
      error={deleting.error}
      onConfirm={() => deleting.mutate()}
      onClose={onClose}
    >
      <p>Nobody can use it for new runs. Runs that used it are not affected.</p>
    </Confirm>
  );
}
