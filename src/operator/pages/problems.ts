import { Problem, type Told } from "../../pages/pages.tsx";

/**
 * The address that asks a browser for the password. It is `/operator` itself and no path below it, or the browser would
 * send the password only to that path.
 */
export const WITH_PASSWORD = "/operator?with=password";

const NEXT = { label: "To the operator's pages", path: "/operator" };

/** The problems of these pages, and what the operator is told. */
const TOLD = {
  not_from_our_page: {
    ...{ status: 403, title: "Nothing was done", next: NEXT },
    happened: "This did not come from a page of ours, or the page was open for more than an hour.",
    advice: "Open the page again and press its button. If you pressed none: another site tried to.",
  },
  unreadable: {
    ...{ status: 400, title: "Nothing was done", next: NEXT },
    happened: "What was sent is no form that can be read.",
    advice: "Open the page again and press its button.",
  },
  sessions_away: {
    ...{ status: 503, title: "Not available for the moment" },
    happened: "The service cannot reach its database, where it is written down who is signed in.",
    advice: "Wait a moment, then load this page again. With the password the check-up opens meanwhile.",
    next: { label: "Use the operator's password", path: WITH_PASSWORD },
  },
  not_ready: {
    ...{ status: 503, title: "Not available for the moment" },
    happened: "The service has just started, and is not ready yet.",
    advice: "Wait a moment, then load this page again. The check-up opens meanwhile.",
    next: { label: "To the check-up", path: "/operator/check-up" },
  },
  database_away: {
    ...{ status: 503, title: "Not available for the moment" },
    happened: "The service cannot reach its database.",
    advice: "Wait a moment, then load this page again. The check-up opens meanwhile.",
    next: { label: "To the check-up", path: "/operator/check-up" },
  },
} satisfies Record<string, Told>;

export function operatorProblem(id: keyof typeof TOLD, options?: ErrorOptions): Problem {
  return new Problem(id, TOLD[id], options);
}

const TO_THE_RESOURCES = { label: "To the resources", path: "/operator/resources" };

/** A refusal by an operation itself; its sentence may be shown. */
export function refused(id: string, status: number, happened: string, next = TO_THE_RESOURCES): Problem {
  const title = status === 404 ? "There is nothing here" : "That cannot be done";
  return new Problem(id, {
    ...{ status, title, happened },
    advice: "Nothing was changed.",
    next,
  });
}
