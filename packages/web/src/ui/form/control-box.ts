/** The look that inputs, text areas and selects share. */
export const controlBox =
  "w-full rounded-md border border-line-strong/60 bg-surface px-3 text-sm text-ink hover:border-line-strong disabled:opacity-60 aria-invalid:border-bad";
