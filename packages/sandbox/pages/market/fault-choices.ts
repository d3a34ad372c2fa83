import type { SandboxSettings } from "../../settings.ts";
import type { FaultAction } from "../../wire/fault.ts";

/** The calls that a person may want to fail. */
export function faultCalls({ resourcesPath }: SandboxSettings): { match: string; text: string }[] {
  return [
    { match: `> POST ${resourcesPath}`, text: "the platform sends a provision" },
    { match: `> PUT ${resourcesPath}/*`, text: "the platform sends a plan change" },
    { match: `> DELETE ${resourcesPath}/*`, text: "the platform sends a deprovision" },
    { match: "POST /oauth/token", text: "your service exchanges or refreshes tokens" },
    { match: "PATCH /addons/*/config", text: "your service sets config vars" },
    { match: "* /addons/*", text: "your service asks about an add-on" },
    { match: "GET /api/v4/*", text: "your service reads the status feed" },
  ];
}

/** The ways in which they can fail. */
export const faultKinds: Record<string, { text: string; action: FaultAction }> = {
  lost: { text: "the work is done and the answer is lost", action: { reset: "after" } },
  cut: { text: "the connection is cut before anything is done", action: { reset: "before" } },
  unavailable: { text: "503 is answered, nothing is done", action: { status: 503 } },
  limited: { text: "429 is answered, nothing is done", action: { status: 429 } },
  slow: { text: "the answer takes 5 seconds longer", action: { delayMs: 5000 } },
  twice: { text: "the call arrives twice", action: { duplicate: true } },
  half: { text: "only half of the answer arrives", action: { truncate: true } },
};
