import type { Request } from "express";
import { badRequest, Refused } from "../../refusal.ts";
import { readBody } from "../../wire/body.ts";

/** The fields of a submitted form, files as their text; of several with the same name, the last that is not empty. */
export type Form = Record<string, string>;

/** A refusal that concerns one field of the form. */
export class FieldRefused extends Refused {
  readonly field: string;

  constructor(field: string, message: string) {
    super(422, "invalid_params", message);
    this.name = "FieldRefused";
    this.field = field;
  }
}

/** Reads a form as a browser sends it, with or without files; at most 1 MB. */
export async function readForm(req: Request): Promise<Form> {
  const text = await readBody(req);
  const headers = { "content-type": req.headers["content-type"] ?? "" };
  const sent = await new Response(text, { headers }).formData().catch(() => {
    throw badRequest("What was sent is not a form.");
  });
  const form: Form = {};
  for (const [name, value] of sent) {
    const content = typeof value === "string" ? value : await value.text();
    if (content !== "" || form[name] === undefined) form[name] = content;
  }
  return form;
}

/** The fields that are not empty, trimmed. */
export function filled<Name extends string>(form: Form, ...names: Name[]): Partial<Record<Name, string>> {
  const values = names.map((name) => [name, (form[name] ?? "").trim()]);
  return Object.fromEntries(values.filter(([, value]) => value !== "")) as Partial<Record<Name, string>>;
}

/** A field of lines `NAME=VALUE`; empty lines are skipped. */
export function pairsIn(form: Form, field: string): Record<string, string> {
  const lines = (form[field] ?? "").split(/\r?\n/).map((line) => line.trim());
  const pairs = lines.flatMap((line, index) => {
    if (line === "") return [];
    const mark = line.indexOf("=");
    if (mark < 1) throw new FieldRefused(field, `Line ${index + 1} is not like NAME=VALUE.`);
    return [[line.slice(0, mark).trim(), line.slice(mark + 1).trim()]];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** A field that must hold a number. */
export function numberIn(form: Form, field: string): number {
  const text = (form[field] ?? "").trim().replace(",", ".");
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) throw new FieldRefused(field, "This must be a number.");
  return number;
}
