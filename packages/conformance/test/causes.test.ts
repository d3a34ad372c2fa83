// What else is broken, skipped and passed where one thing is wrong from the ground up.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "@jest/globals";
import { good, type Habits } from "../examples/service/service.ts";
import type { Verdict } from "../rule.ts";
import { rules } from "../rules/index.ts";
import { exampleSettings, falselyBlamed, faultsIn, judgedAt, judgedExample } from "./judged.ts";

const refused = (status: number) => ({ status, body: { id: "refused", message: "No." } });

const example = (habits: Partial<Habits>) => () => judgedExample({ ...good, ...habits });

/** The same answer to everything, and no call to the platform. */
const always =
  (status: number, headers: Record<string, string> = {}) =>
  async () => {
    const server: Server = createServer((request, response) => {
      const head = { "content-type": "application/json", ...headers };
      // Earlier, the closed connection could cut off what is still being sent.
      request.resume().once("end", () => {
        response.writeHead(status, head).end('{"id":"x","message":"Always.","config":{}}');
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const others = { asyncPlan: null, ssoSalt: null };
    return judgedAt(`http://127.0.0.1:${port}`, others).finally(() => {
      server.closeAllConnections();
      server.close();
    });
  };

/** No call reaches the token endpoint. */
const silent: Partial<Habits> = {
  request: () => ({ url: "http://127.0.0.1:9", init: {} }),
  waitMs: () => null,
};

// A group's name stands for all its rules.
const NEED_TOKENS =
  "REQ-05 REQ-06 IDEM-05 IDEM-06 IDEM-07 EXCH-03 EXCH-11 EXCH-12 TOK FAIL DEPR-06 DEPR-08 TOMB-04 " +
  "ASYNC-03 ASYNC-04 ASYNC-05 ASYNC-06 ASYNC-07 ASYNC-08 ASYNC-10 ASYNC-11 ASYNC-12 ASYNC-13 ASYNC-14 " +
  "ASYNC-15 ASYNC-16";
const NEED_A_TRY = "EXCH-02 EXCH-04 EXCH-05 EXCH-06 EXCH-07 EXCH-08 EXCH-09 EXCH-10 DEPR-05 SECR-03";
const NEED_A_FORM = "EXCH-06 EXCH-07 EXCH-08 EXCH-10";
const NEED_A_401 = "AUTH-02 AUTH-03 AUTH-04 AUTH-05 AUTH-06 AUTH-08 AUTH-09 AUTH-10 AUTH-11";
/** All that is not about strangers, what never was, or how HTTP is spoken. */
const NEED_A_PROVISION =
  "AUTH-07 PROV REQ IDEM EXCH TOK FAIL PLAN-01 PLAN-02 PLAN-03 PLAN-04 PLAN-06 PLAN-07 PLAN-08 PLAN-09 PLAN-10 " +
  "DEPR-01 DEPR-04 DEPR-05 DEPR-06 DEPR-08 TOMB ERR-01 SECR-03 HTTP-01 HTTP-02 HTTP-05 HTTP-06";

interface Row {
  what: string;
  judged(): Promise<Verdict[]>;
  broken: string;
  /** Broken on a busy machine alone. */
  mayBreak?: string;
  /** The skipped rules, by the broken rule that they have to name. */
  skipped: Record<string, string>;
}

const rows: Row[] = [
  {
    what: "never exchanges a grant",
    judged: example(silent),
    broken: "EXCH-01",
    skipped: { "EXCH-01": `${NEED_TOKENS} ${NEED_A_TRY}` },
  },
  {
    what: "never exchanges a grant, and changes no plan without tokens",
    judged: example({ ...silent, changed: () => refused(409) }),
    broken: "EXCH-01",
    skipped: {
      "EXCH-01": `${NEED_TOKENS} ${NEED_A_TRY} PROV-10 PLAN-01 PLAN-02 PLAN-03 PLAN-07 PLAN-08 PLAN-09 PLAN-10`,
    },
  },
  {
    what: "exchanges in JSON",
    judged: example({
      request: (url, form) => ({
        url,
        init: { method: "POST", body: JSON.stringify(form), headers: { "content-type": "application/json" } },
      }),
    }),
    broken: "EXCH-05",
    skipped: { "EXCH-05": `EXCH-01 ${NEED_TOKENS} ${NEED_A_FORM}` },
  },
  {
    what: "exchanges before it answers, and not again",
    judged: example({
      exchangesBeforeAnswering: true,
      waitMs: () => null,
    }),
    broken: "EXCH-02",
    skipped: { "EXCH-02": `EXCH-01 ${NEED_TOKENS}` },
  },
  {
    what: "has another client secret",
    judged: example({ secretOf: () => "another" }),
    broken: "EXCH-08",
    skipped: { "EXCH-08": `EXCH-01 ${NEED_TOKENS}` },
  },
  {
    what: "answers a provision with 201",
    judged: example({ provisioned: (...args) => ({ ...good.provisioned(...args), status: 201 }) }),
    broken: "PROV-01",
    skipped: {},
  },
  {
    what: "asks nobody for credentials",
    judged: example({ isPlatform: () => true }),
    broken: "AUTH-01",
    skipped: { "AUTH-01": `${NEED_A_401} AUTH-07` },
  },
  {
    what: "answers everything with 200 and the same body",
    judged: always(200),
    broken:
      "AUTH-01 PROV-03 REQ-11 REQ-12 REQ-13 REQ-15 EXCH-01 PLAN-04 " +
      "DEPR-01 DEPR-02 TOMB-01 TOMB-02 TOMB-03 HTTP-04",
    skipped: {
      "AUTH-01": `${NEED_A_401} AUTH-07`,
      "PLAN-04": "PROV-09 EXCH-04 ERR-01",
      "REQ-11": "PLAN-06",
      "EXCH-01":
        "REQ-05 REQ-06 IDEM-05 IDEM-06 IDEM-07 EXCH-02 EXCH-03 EXCH-05 EXCH-06 EXCH-07 EXCH-08 EXCH-09 " +
        "EXCH-10 EXCH-11 EXCH-12 TOK FAIL DEPR-05 DEPR-06 DEPR-08 TOMB-04 SECR-03",
      "TOMB-01": "TOMB-05",
      "DEPR-01": "HTTP-06",
      "DEPR-02": "PLAN-05 DEPR-03 ERR-02",
    },
  },
  {
    what: "refuses everything",
    judged: always(422),
    broken: "AUTH-01 PROV-01 DEPR-02",
    skipped: { "AUTH-01": NEED_A_401, "PROV-01": NEED_A_PROVISION, "DEPR-02": "PLAN-05 DEPR-03" },
  },
  {
    what: "fails at everything",
    judged: always(500),
    broken: "AUTH-01 PROV-01 DEPR-02 HTTP-04",
    skipped: {
      "AUTH-01": `${NEED_A_401} ERR-04`,
      "PROV-01": NEED_A_PROVISION,
      "DEPR-02": "PLAN-05 DEPR-03 ERR-02",
    },
  },
  {
    what: "refreshes nothing by itself",
    judged: example({ refreshAfterMs: () => null }),
    broken: "TOK-01",
    skipped: { "TOK-01": "TOK" },
  },
  {
    what: "refuses what comes again",
    judged: example({ again: () => refused(409) }),
    broken: "IDEM-01",
    skipped: { "IDEM-01": "IDEM-02 IDEM-03 IDEM-04 IDEM-06 IDEM-07 FAIL-07 PLAN-09 ASYNC-09" },
  },
  {
    what: "answers a plan that was named as asynchronous at once",
    judged: example({ takesItsTime: () => false }),
    broken: "ASYNC-01",
    skipped: { "ASYNC-01": "ASYNC DEPR-07" },
  },
  {
    what: "never tells the end of an asynchronous provision",
    judged: example({ finish: (uuid, config) => good.finish(uuid, config).slice(0, 1) }),
    broken: "ASYNC-03",
    skipped: { "ASYNC-03": "ASYNC-04 ASYNC-10 ASYNC-11 ASYNC-12 ASYNC-13 ASYNC-14 ASYNC-15 ASYNC-16" },
  },
  {
    what: "lets no resource go",
    judged: example({ deprovisioned: () => refused(409) }),
    broken: "DEPR-01",
    skipped: { "DEPR-01": "DEPR-04 DEPR-05 DEPR-06 DEPR-07 DEPR-08 TOMB HTTP-06 SSO-09 SSO-12" },
  },
];

const idsOf = (names: string) =>
  names
    .split(" ")
    .flatMap((name) =>
      rules.filter(({ id }) => id === name || id.startsWith(`${name}-`)).map(({ id }) => id),
    );

/** For each rule that is not passed: "broken", or the rule that it names. */
function expected({ broken, skipped }: Row): Record<string, string> {
  const all = Object.entries(skipped).flatMap(([cause, names]) =>
    idsOf(names).map((id) => [id, `(${cause})`]),
  );
  const faults = idsOf(broken).map((id) => [id, "broken"]);
  return Object.fromEntries([...all, ...faults]) as Record<string, string>;
}

it.concurrent.each(rows)(
  "a service that $what",
  async (row) => {
    const verdicts = await row.judged();
    const found = verdicts
      .filter(({ status }) => status !== "passed" && status !== "not_applicable")
      .filter(({ rule }) => rule.id !== row.mayBreak)
      .map(({ rule, status, broken }) => [rule.id, status === "failed" ? "broken" : `(${broken})`]);
    expect(Object.fromEntries(found)).toEqual(expected(row));
  },
  600_000,
);

/** Refuses each provision after the twentieth. */
function acceptsSome(status: number): Partial<Habits> {
  let count = 0;
  return { readProvision: (members) => ((count += 1) > 20 ? refused(status) : good.readProvision(members)) };
}

it.concurrent.each<[string, string, () => Partial<Habits>]>([
  ["PROV-01", "accepts some provisions, and then no more", () => acceptsSome(409)],
  ["PROV-01", "accepts some provisions, and then answers 503", () => acceptsSome(503)],
  [
    "EXCH-01",
    "exchanges some grants, and then no more",
    () => {
      let count = 0;
      const exchangeForm: Habits["exchangeForm"] = (code, secret) =>
        good.exchangeForm((count += 1) > 3 ? "none" : code, secret);
      return { exchangeForm, waitMs: () => null };
    },
  ],
])(
  "%s does not hold for a service that %s",
  async (id, _what, habits) => {
    const verdicts = await judgedExample({ ...good, ...habits() });
    expect(verdicts.find(({ rule }) => rule.id === id)).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^It does not always hold\. [A-Z]+-\d\d could not be judged: /),
    });
    expect(falselyBlamed(verdicts)).toEqual([]);
    // What else can make a service refuse provisions is not what makes this one.
    const broken = [...faultsIn(verdicts).keys()];
    expect(broken.filter((id) => id === "FAIL-07" || id === "HTTP-05")).toEqual([]);
  },
  600_000,
);

it("does not blame a service for the time in which the checker itself stood still", async () => {
  let hasStood = false;
  const refreshAfterMs = (seconds?: number) => {
    // Past the end of the token, from a moment on at which its refresh is not due yet.
    if (!hasStood && seconds === 2) setTimeout(() => standStill(2_500), 200);
    hasStood ||= seconds === 2;
    return good.refreshAfterMs(seconds);
  };
  const patience = { ...exampleSettings.patience, tokenLifeSeconds: 2 };
  const judgedBy = rules.filter(({ id }) => id === "TOK-01");
  const [verdict] = await judgedExample({ ...good, refreshAfterMs }, judgedBy, { patience });
  expect([hasStood, verdict]).toEqual([true, expect.objectContaining({ status: "passed", reason: null })]);
}, 60_000);

/** Lets nothing else of this process run. */
function standStill(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}
