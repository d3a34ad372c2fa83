import { invalid } from "../refusal.ts";

/** Checks the members of a control call's body that must be strings when they are there. */
export function checkTexts<Body extends object>(body: Body, ...members: (keyof Body & string)[]): Body {
  for (const member of members) {
    const value: unknown = body[member];
    if (value !== undefined && typeof value !== "string") throw invalid(`${member} must be a string.`);
  }
  return body;
}
