import { HOW_TO_FIX_NODE, missingNodeFixes } from "../../node-version.ts";
import { buildText } from "../../version.ts";
import { fine, warning, type Finding } from "./check.ts";

/** Tells which build this process runs, and warns if its Node lacks security fixes. */
export function versions(): Finding {
  const missing = missingNodeFixes();
  return missing ? warning(`${buildText}. ${missing}`, HOW_TO_FIX_NODE) : fine(`${buildText}.`);
}
