import type { ReactNode } from "react";
import type { RequestForm } from "../../../ui/form/use-request-form.ts";
import type { Values } from "./values.ts";

/** The props that all sections of the form share. */
export interface FormSectionProps {
  form: RequestForm<Values>;
}

interface FormSectionFrameProps {
  title: string;
  lead: ReactNode;
  children: ReactNode;
}

/** Shows a section of the form. On wide screens, its description is beside the fields. */
export function FormSection({ title, lead, children }: FormSectionFrameProps) {
  return (
    <fieldset className="grid gap-x-8 gap-y-3 border-t border-line py-6 first-of-type:border-t-0 first-of-type:pt-2 lg:grid-cols-[15rem_minmax(0,1fr)]">
      <legend className="sr-only">{title}</legend>
      <div>
        <h2 className="font-semibold">{title}</h2>
        <div className="mt-1 text-xs text-muted">{lead}</div>
      </div>
      <div className="flex min-w-0 flex-col gap-4">{children}</div>
    </fieldset>
  );
}
