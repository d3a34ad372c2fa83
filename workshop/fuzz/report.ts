import type { AuthorizationsReport } from "./authorizations.ts";
import type { ProvisionsReport } from "./provisions.ts";

/** The findings of a run as text. */
export function report(provisions: ProvisionsReport, authorizations: AuthorizationsReport): string {
  const { cases, answers, usualMs, dearest } = provisions;
  const faults = [...provisions.faults, ...authorizations.faults];
  return [
    `${cases} provision requests: ${Object.entries(answers).map(([status, count]) => `${status} × ${count}`).join(", ")}`,
    `${authorizations.headers} Authorization headers, all to be refused`,
    `The usual request takes ${usualMs.toFixed(1)} ms of processor time; the dearest, in times of it:`,
    ...dearest.slice(0, 5).map(({ times, bytes, mutations }) => `  ${times.toFixed(1)} × ${mutations.join(", ")} (${bytes} bytes)`),
    faults.length === 0 ? "Every promise held." : `${faults.length} faults:`,
    ...faults.slice(0, 50).map((fault) => `  ${fault}`),
  ].join("\n");
} // prettier-ignore
