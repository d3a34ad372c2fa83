import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { CurrentForm } from "./form-of.tsx";

interface FieldProps {
  name: string;
  label: string;
  /** A sentence that explains the field. */
  hint?: ComponentChildren;
  initial?: string;
}

/** What all fields have in common: the value, the description, and the error. */
function useField({ name, hint, initial = "" }: FieldProps) {
  const { form, attempt } = useContext(CurrentForm);
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
  /** Selects the keyboard that a phone shows. */
  inputMode?: "numeric" | "decimal";
  placeholder?: string;
  /** Number of lines; makes it a field for longer text. */
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

/** A choice of one from a short list. */
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

/** A choice of one from a short list, with an explanation for each. */
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
