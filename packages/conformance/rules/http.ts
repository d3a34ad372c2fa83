import { randomUUID } from "node:crypto";
import {
  accepted as acceptedFirst,
  installed,
  installedInTime,
  isSuccess,
  plainAnswer,
  shown,
} from "../probes.ts";
import { holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, rfc } from "../sections.ts";
import { aProvision } from "../stage/service-calls.ts";
import type { Outgoing, Reply } from "../stage/wire.ts";
import { accepted } from "./requests.ts";

const section = assumed(1);
const AT_ONCE = 12;
const TRIES = 8;

/** Sends the body in pieces with pauses, with a Content-Length. */
function slowly(request: Outgoing): void {
  request.headers["content-length"] = String(Buffer.byteLength(request.body ?? ""));
  request.pieces = { bytes: 60, pauseMs: 100 };
}

export const http: RuleGroup = {
  title: "HTTP",
  rules: [
    {
      id: "HTTP-01",
      title: "A body without a Content-Length is read",
      section: rfc(9112, "7.1"),
      severity: "must",
      mend: "Read bodies that come in chunks; proxies send them so.",
      check: (stage) =>
        accepted(stage, (request) => (request.pieces = { bytes: 100, pauseMs: 1 }), "A body in chunks"),
    },
    {
      id: "HTTP-02",
      title: "A body that comes slowly is waited for",
      section,
      severity: "should",
      mend: "Give a request some seconds to arrive.",
      check: (stage) => accepted(stage, slowly, "A slow body"),
    },
    {
      id: "HTTP-03",
      title: "A connection carries several calls",
      section: `${section}; ${rfc(9112, "9.3")}`,
      severity: "should",
      mend: "Leave connections open after an answer; a platform makes many calls.",
      async check({ service }) {
        const call = () => ({ method: "DELETE", below: `/${randomUUID()}` });
        const replies = await service.onOneConnection([call(), call(), call()]);
        holds(
          replies.some(({ isReused }) => isReused),
          "Every answer closed its connection.",
        );
      },
    },
    {
      id: "HTTP-04",
      title: "A method that means nothing is refused",
      section,
      severity: "should",
      mend: "Answer 405 (or 404) to what is neither POST, PUT nor DELETE.",
      async check({ service }) {
        for (const method of ["GET", "PATCH"]) {
          const { status } = await service.send({ method, below: `/${randomUUID()}` });
          const isRefused = (status >= 400 && status < 500) || status === 501;
          holds(isRefused, `${method} of a resource was answered with ${status}.`);
        }
      },
    },
    {
      id: "HTTP-05",
      title: "12 provisions at the same moment are all accepted",
      section: assumed(1),
      severity: "must",
      mend: "Do little before the answer; let connections to your database wait for each other, not fail.",
      follows: ["FAIL-07"],
      async check(stage) {
        await plainAnswer(stage);
        const bodies = Array.from({ length: AT_ONCE }, () => aProvision(stage.settings));
        const all = await Promise.all(bodies.map((body) => stage.service.send({ method: "POST", body })));
        for (const { uuid } of bodies)
          await stage.service.send({ method: "DELETE", below: `/${String(uuid)}` });
        const refused = all.filter((reply) => !isSuccess(reply));
        // Who refuses one alone as well does not refuse them for their number.
        if (refused.length > 0) acceptedFirst(await installedInTime(stage, TRIES));
        holds(
          refused.length === 0,
          `${refused.length} of ${all.length} were not: the first with ${shown(refused[0] ?? null)}.`,
        );
      },
    },
    {
      id: "HTTP-06",
      title: "A 204 has no body",
      section: rfc(9110, "15.3.5"),
      severity: "must",
      mend: "Send 204 alone, without a body and without a Transfer-Encoding, and without a Content-Length other than 0.",
      isLast: true,
      async check(stage) {
        const isEmpty = ({ status }: Reply) => status === 204;
        // If only this rule was selected, nothing has been deprovisioned yet.
        if (!stage.books.replies.some(isEmpty)) await stage.deprovision(await installed(stage));
        const replies = stage.books.replies.filter(isEmpty);
        needs(replies.length > 0, "a deprovision has to be answered with 204 first.", "DEPR-01");
        const found = replies.find(({ headers }) => (headers["content-length"] ?? "0") !== "0");
        holds(!found, `A 204 promises ${found?.headers["content-length"]} bytes.`);
        const isPromised = replies.some(({ headers }) => headers["transfer-encoding"] !== undefined);
        holds(!isPromised, "A 204 promises a body in chunks.");
      },
    },
  ],
};
