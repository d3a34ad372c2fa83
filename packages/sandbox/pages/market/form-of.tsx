import { type ComponentChildren, createContext } from "preact";
import type { Attempt } from "./page.ts";

/** The form being rendered, and the refused attempt to send it, if any. */
export const CurrentForm = createContext<{ form: string; attempt: Attempt | null }>({
  form: "",
  attempt: null,
});

interface FormProps {
  form: string;
  action: string;
  attempt: Attempt | null;
  button: string;
  /** The CSS class of the button. */
  look?: string;
  hasFile?: boolean;
  /** The button is placed beside the form's only field. */
  isRow?: boolean;
  children?: ComponentChildren;
}

/** A form that works without a script; an error about the form as a whole is shown above its button. */
export function FormOf({
  form,
  action,
  attempt,
  button,
  look = "",
  hasFile = false,
  isRow = false,
  children,
}: FormProps) {
  const own = attempt?.form === form ? attempt : null;
  return (
    <CurrentForm.Provider value={{ form, attempt: own }}>
      <form
        method="post"
        action={action}
        id={`form-${form}`}
        class={isRow ? "row" : ""}
        {...(hasFile && { encType: "multipart/form-data" })}
      >
        {children}
        {own && own.field === null && <p class="fault">{own.message}</p>}
        <button type="submit" class={look}>
          {button}
        </button>
      </form>
    </CurrentForm.Provider>
  );
}

/** A form with a single button, for actions that need no input. */
export function ButtonForm(props: Omit<FormProps, "children" | "hasFile">) {
  return <FormOf {...props} />;
}

/** A destructive action must be unfolded before its button can be pressed; this replaces a confirmation dialog. */
export function Careful({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <details class="careful" data-key={title}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
