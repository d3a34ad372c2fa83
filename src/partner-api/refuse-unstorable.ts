import { Refusal } from "../errors.ts";

/** How deep a body may nest. A deeper one would overflow the stack of a recursive function. */
const DEEPEST = 20;

/**
 * Refuses a parsed JSON body that cannot be stored unchanged: nested too deeply, or with text that PostgreSQL cannot
 * store (NUL, broken Unicode). Walks without recursion.
 */
export function refuseUnstorable(body: unknown): void {
  const open: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === "string") refuseBroken(value);
    if (typeof value !== "object" || value === null) continue;
    if (depth >= DEEPEST)
      throw new Refusal(`The body nests deeper than ${DEEPEST} levels.`, { id: "invalid_params" });
    for (const [key, member] of Object.entries(value)) {
      refuseBroken(key);
      open.push({ value: member, depth: depth + 1 });
    }
  }
}

function refuseBroken(text: string): void {
  if (text.includes("\0")) throw new Refusal("A text contains a NUL character.", { id: "invalid_params" });
  if (!text.isWellFormed()) throw new Refusal("A text contains broken Unicode.", { id: "invalid_params" });
}
