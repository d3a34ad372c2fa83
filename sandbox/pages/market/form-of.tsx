import { type ComponentChildren, createContext } from "preact";
import type { Attempt } from "./page.ts";

/** The form that is being drawn, and what an earlier attempt at it left. */
export const CurrentForm = createContext<{ form: string; attempt: Attempt | null }>({
  form: "",
  attempt: null,
});

interface FormProps {
  form: string;
  action: string;
  attempt: Attempt | null;
  button: string;
  /** Of the button. */
  look?: string;
  hasFile?: boolean;
  /** Its button stands beside its one field. */
  isRow?: boolean;
  children?: ComponentChildren;
}

/** A form that works without a script; what is wrong with it as a whole stands above its button. */
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

/** A form of a single button, for what needs no more said. */
export function ButtonForm(
  props: Omit<FormProps, "children" | "hasFile"> & { values?: Record<string, string> },
) {
  const { values = {}, ...form } = props;
  return (
    <FormOf {...form}>
      {Object.entries(values).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </FormOf>
  );
}

/** What takes something away is opened before it is pressed: that is the question whether it is meant. */
export function Careful({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <details class="careful" data-key={title}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
