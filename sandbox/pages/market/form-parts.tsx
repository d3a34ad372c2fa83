import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Attempt } from "./page.ts";

/** The form that is being drawn, and what an earlier attempt at it left. */
const Current = createContext<{ form: string; attempt: Attempt | null }>({ form: "", attempt: null });

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
    <Current.Provider value={{ form, attempt: own }}>
      <form
        method="post"
        action={action}
        id={form}
        class={isRow ? "row" : ""}
        {...(hasFile && { encType: "multipart/form-data" })}
      >
        {children}
        {own && own.field === null && <p class="fault">{own.message}</p>}
        <button type="submit" class={look}>
          {button}
        </button>
      </form>
    </Current.Provider>
  );
}

interface FieldProps {
  name: string;
  label: string;
  /** What it is for, in a sentence. */
  hint?: ComponentChildren;
  initial?: string;
}

/** What every field has: its value, its description, and what is wrong with it. */
function useField({ name, hint, initial = "" }: FieldProps) {
  const { form, attempt } = useContext(Current);
  const id = `${form}-${name}`;
  const fault = attempt?.field === name ? attempt.message : null;
  const describedBy = [fault !== null && `${id}-fault`, hint !== undefined && `${id}-hint`].filter(Boolean);
  return {
    id,
    fault,
    value: attempt ? (attempt.values[name] ?? "") : initial,
    about: {
      id,
      name,
      ...(describedBy.length > 0 && { "aria-describedby": describedBy.join(" ") }),
      ...(fault !== null && { "aria-invalid": true, autoFocus: true }),
    },
  };
}

function Remarks({ id, fault, hint }: { id: string; fault: string | null; hint: ComponentChildren }) {
  return (
    <>
      {fault !== null && (
        <small class="fault" id={`${id}-fault`}>
          {fault}
        </small>
      )}
      {hint !== undefined && (
        <small class="hint" id={`${id}-hint`}>
          {hint}
        </small>
      )}
    </>
  );
}

interface TextProps extends FieldProps {
  /** The keyboard that a phone offers. */
  inputMode?: "numeric" | "decimal";
  placeholder?: string;
  /** Lines of a field for longer text. */
  rows?: number;
}

/** One line of text, or several. */
export function TextField(props: TextProps) {
  const { label, hint, inputMode, placeholder, rows } = props;
  const { id, fault, value, about } = useField(props);
  const shared = {
    ...about,
    ...(placeholder !== undefined && { placeholder }),
    ...(inputMode && { inputMode }),
    autoComplete: "off" as const,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input type="text" value={value} {...shared} />
      ) : (
        <textarea rows={rows} spellcheck={false} {...shared}>
          {value}
        </textarea>
      )}
      <Remarks {...{ id, fault, hint }} />
    </div>
  );
}

export function FileField(props: FieldProps & { accept: string }) {
  const { id, fault, about } = useField(props);
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <input type="file" accept={props.accept} {...about} />
      <Remarks {...{ id, fault, hint: props.hint }} />
    </div>
  );
}

type Choice = [value: string, text: string];

/** One of a few. */
export function ChoiceField(props: FieldProps & { choices: readonly Choice[] }) {
  const { id, fault, value, about } = useField(props);
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <select {...about}>
        {props.choices.map(([choice, text]) => (
          <option value={choice} selected={choice === value}>
            {text}
          </option>
        ))}
      </select>
      <Remarks {...{ id, fault, hint: props.hint }} />
    </div>
  );
}

interface CardsProps extends FieldProps {
  cards: readonly { value: string; title: string; text?: string | undefined; remark?: string | undefined }[];
}

/** One of a few that need a word each. */
export function CardsField(props: CardsProps) {
  const { id, fault, value } = useField(props);
  return (
    <fieldset class="cards">
      <legend>{props.label}</legend>
      {props.cards.map(({ value: card, title, text, remark }) => (
        <label class="card">
          <input type="radio" name={props.name} value={card} checked={card === value} />
          <span>
            <strong>{title}</strong>
            {remark !== undefined && <span class="remark">{remark}</span>}
            {text !== undefined && <small>{text}</small>}
          </span>
        </label>
      ))}
      <Remarks {...{ id, fault, hint: props.hint }} />
    </fieldset>
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
