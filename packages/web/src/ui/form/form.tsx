import { type ComponentProps, useEffect, useRef, useState } from "react";
import { focusFirstError } from "./focus-first-error.ts";

interface FormProps extends Omit<ComponentProps<"form">, "onSubmit" | "noValidate" | "ref"> {
  /** Sends the form, or shows what is wrong at its fields. */
  onSubmit: () => void;
}

/**
 * A form that does not use `useRequestForm`. It shows its errors at the fields, never in the browser's bubbles, and the
 * first invalid field receives the focus when it is sent.
 */
export function Form({ onSubmit, ...rest }: FormProps) {
  const element = useRef<HTMLFormElement>(null);
  const [submitCount, setSubmitCount] = useState(0);
  useEffect(() => {
    if (submitCount > 0) focusFirstError(element.current);
  }, [submitCount]);
  return (
    <form
      {...rest}
      ref={element}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
        setSubmitCount((before) => before + 1);
      }}
    />
  );
}
