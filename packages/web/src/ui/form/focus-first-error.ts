/** Focuses the first invalid field of a form, or shows the alert if no field is invalid. */
export function focusFirstError(form: HTMLFormElement | null) {
  const field = form?.querySelector<HTMLElement>('[aria-invalid="true"]');
  // A field in a closed disclosure cannot be focused.
  field?.closest("details")?.setAttribute("open", "");
  if (field) field.focus();
  else form?.querySelector('[role="alert"]')?.scrollIntoView({ block: "center" });
}
