import { inspect } from "node:util";
import type { Secret } from "./secret.ts";

// Finds secrets in texts by their values, in every form in which one may be written.

/** What stands in a text in place of a secret. */
export const HIDDEN = "[secret]";
/** Values and forms with fewer characters are not looked for: they would be found in ordinary words. */
export const SHORTEST = 4;

/** The secrets that the text of an error may quote, by the error. */
const quotedBy = new WeakMap<object, readonly string[]>();

/**
 * To be called with what foreign code threw (the vendor's, or another server's answer): notes which secrets its text
 * may quote, so that the log and `messageOf` show it without them. Returns the error; of anything else that was thrown,
 * a text without the secrets.
 */
export function mayQuote(thrown: unknown, secrets: readonly Secret[]): unknown {
  const values = secrets.map((each) => each.reveal());
  if (thrown === undefined || thrown === null) return thrown;
  if (!(thrown instanceof Error))
    return redact(typeof thrown === "string" ? thrown : inspect(thrown), values);
  quotedBy.set(thrown, [...values, ...(quotedBy.get(thrown) ?? [])]);
  return thrown;
}

/** Redacts, in the texts of an error, the secrets that it or one of its causes may quote. */
export function withoutQuoted(error: Error): (text: string) => string {
  const secrets = chainOf(error).flatMap((each) => quotedBy.get(each) ?? []);
  return (text) => redact(text, secrets);
}

const DEEPEST_CAUSE = 8;

/** The error, its cause, that one's cause and so on, as far as they can be read. */
export function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  try {
    // Some libraries' errors have a function there. A getter may throw.
    for (let each = error; each instanceof Error && chain.length < DEEPEST_CAUSE;) {
      chain.push(each);
      each = typeof each.cause === "function" ? (each.cause.call(each) as unknown) : each.cause;
    }
  } catch {
    // The causes so far are all that can be read.
  }
  return chain;
}

/** A text without these secrets, in any form. */
export function redact(text: string, secrets: readonly string[]): string {
  const pattern = patternOf(formsOf(secrets));
  return pattern ? text.replace(pattern, HIDDEN) : text;
}

/** Finds any of these texts; where several begin, the longest. */
export function patternOf(texts: Iterable<string>): RegExp | null {
  const longestFirst = [...texts].sort((one, other) => other.length - one.length);
  return longestFirst.length > 0 ? new RegExp(longestFirst.map(escapeForRegExp).join("|"), "g") : null;
}

/** Every form in which these secrets may be written: plain, escaped, URL-encoded and in base64. */
export function formsOf(secrets: readonly string[]): string[] {
  const values = secrets.filter(({ length }) => length >= SHORTEST);
  const forms = values.flatMap((value) => [value, ...encoded(value), ...escaped(value), ...base64Of(value)]);
  return [...new Set(forms)].filter(({ length }) => length >= SHORTEST);
}

/** As in a URL, in a form, and in either within a URL; with hexadecimal digits in capitals and in small letters. */
function encoded(value: string): string[] {
  const inUrl = encodeURIComponent(value.toWellFormed());
  const inForm = new URLSearchParams([["", value]]).toString().slice(1);
  const upper = [inUrl, inForm, encodeURIComponent(inUrl), encodeURIComponent(inForm)];
  return [...upper, ...upper.map((each) => each.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

/**
 * As text and as JavaScript shows a text, escaped as JSON once to three times: the line is JSON, and may quote JSON.
 */
function escaped(value: string): string[] {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  return [value, inspect(value).slice(1, -1)].flatMap((text) => [
    json(text),
    json(json(text)),
    json(json(json(text))),
  ]);
}

/**
 * In base64, also as part of a longer text, like the password in Basic credentials. A digit of base64 holds six bits,
 * so a value can begin in three positions; a first or last digit that is shared with a neighbour is left out.
 */
export function base64Of(value: string): string[] {
  const bytes = Buffer.from(`\0\0${value}`);
  return [0, 1, 2].flatMap((before) => {
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((bytes.length - 2 + before) * 8) / 6);
    const form = bytes.toString("base64", 2 - before).slice(first, last);
    return /[+/]/.test(form) ? [form, form.replaceAll("+", "-").replaceAll("/", "_")] : [form];
  });
}

export function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
