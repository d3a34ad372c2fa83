import { Argument, Option } from "commander";
import { KitError } from "../../errors.ts";
import {
  type Authorization,
  createAuthorization,
  revealed,
  revokeAuthorization,
} from "../../platform/authorizations.ts";
import {
  type PlatformCalls,
  PlatformRefused,
  TransportError,
  UnreadableAnswer,
} from "../../platform/call.ts";
import { withHttp } from "../../platform/http.ts";
import {
  currentStatus,
  type Incident,
  incident as oneIncident,
  incidents as listed,
  openIncidents,
} from "../../platform/status.ts";
import type { Secret } from "../../secret.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { appsOf, callPlatform } from "../platform-call.ts";
import { counted, duration, moment } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, example, facts, FAILED, jsonText, safe, safeLines, table } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";

export function addApps(program: KitCommand): void {
  program
    .command("apps")
    .summary("the apps of a resource")
    .argument("<uuid>", "the resource", typedUuid)
    .description("the app a resource was installed on, and all it is attached to")
    .does(async (session, uuid: string) => {
      const report = await appsOf(await session.context(), uuid);
      const { primary, attachments } = report;
      const rows = attachments.map(({ name, app }) => ({
        app: app.name,
        "attached as": name,
        "app id": app.id,
      }));
      const head = `Installed on ${safe(primary.name)}, ${counted(rows.length, "attachment")}.`;
      return { data: report, show: (paint) => `${head}\n${table(paint, rows)}` };
    });
}

interface Call {
  resource: string;
  data?: string;
  reveal?: boolean;
}

export function addApi(program: KitCommand): void {
  program
    .command("api")
    .summary("any call to the platform's API")
    .addArgument(
      new Argument("<METHOD>", "of the call")
        .choices(["GET", "POST", "PUT", "PATCH", "DELETE"])
        .argParser((text) => text.toUpperCase()),
    )
    .argument("<PATH>", "on the platform's API, from its first slash")
    .requiredOption("--resource <uuid>", "whose token is sent", typedUuid)
    .option("--data <json>", "the body")
    .option("--reveal", "show tokens, config values and other secrets of the answer")
    .description("any call to the platform's API; the answer is shown as it comes, but for secrets in it")
    .addHelpText("after", example("kit api GET /addons/UUID --resource UUID"))
    .does(async (session, method: string, path: string, { resource: uuid, data, reveal = false }: Call) => {
      const context = await session.context({ changes: method !== "GET" });
      const answer = await callPlatform(context, { method, path, uuid, data }, reveal);
      const { status, body } = answer;
      return {
        data: answer,
        message: `status ${status}`,
        show: (paint) => {
          const head = (status >= 400 ? paint.red : paint.green)(String(status));
          const text = typeof body === "string" ? safeLines(body) : jsonText(body, 2);
          return body === null ? head : `${head}\n${text}`;
        },
        exitCode: status >= 400 ? FAILED : DONE,
      };
    });
}

export function addAuthorizations(program: KitCommand): void {
  const authorizations = program
    .command("authorizations")
    .summary("your own tokens for the platform")
    .description("tokens of your own for the platform's API; your present token comes on standard input");

  authorizations
    .command("create")
    .requiredOption("--description <text>", "what it is for, to tell it from your others")
    .requiredOption("--scope <scope...>", "identity, read, write, read-protected, …, or global: all")
    .description("exchange your token, which expires, for one that does not")
    .addHelpText(
      "after",
      `${example("kit authorizations create --description dashboards --scope read < token.txt")}

The new token is shown this once (with --json, the whole record): nobody can
show it again, so --reveal is not needed here. It is not stored and not logged.`,
    )
    .does(async (session, { description, scope }: { description: string; scope: string[] }) => {
      if (scope.some((each) => each.trim() === ""))
        throw new UsedWrongly("An empty scope would allow everything: name a scope.");
      const record = await authorizationFrom(session, (calls, token) =>
        createAuthorization(calls, { description, scope }, token),
      );
      return { data: revealed(record), show: (paint) => createdText(paint, record) };
    });

  authorizations
    .command("revoke")
    .argument("<id>", "the authorization")
    .description("end an authorization: its tokens are blocked at once")
    .does(async (session, id: string) => {
      const record = await authorizationFrom(session, (calls, token) =>
        revokeAuthorization(calls, id, token),
      );
      return { data: record, show: () => `Revoked ${safe(record.id)}: its tokens are blocked.` };
    });
}

function createdText(paint: Paint, { id, scope, access_token: issued }: Authorization): string {
  const life = issued?.expires_in;
  const expires = typeof life === "number" ? `in ${duration(life)}` : "never";
  const about = facts(paint, Object.entries({ id, scope: [scope].flat().join(", "), expires }));
  const token = String(revealed(issued?.token) ?? "The platform sent no token.");
  return `Created. Its token is shown this once:\n\n${safe(token)}\n\n${about}`;
}

/** Needs neither the database nor a secret of the service. */
async function authorizationFrom(
  session: Session,
  ask: (calls: PlatformCalls, userToken: Secret) => Promise<Authorization>,
): Promise<Authorization> {
  const settings = session.settings(["platformApiUrl", "platformMediaType"]);
  const { platformApiUrl: apiUrl, platformMediaType: mediaType } = settings;
  const token = await session.secret("Your token for the platform's API");
  if (!/^[\x21-\x7e]+$/.test(token.reveal()))
    throw new UsedWrongly("Standard input does not hold a token: it has white space or odd characters.");
  try {
    return await withHttp((http) => ask({ http, apiUrl, mediaType }, token));
  } catch (error) {
    const isServerError = error instanceof PlatformRefused && error.status >= 500;
    const isCertain =
      error instanceof TransportError
        ? !error.mayHaveArrived
        : !isServerError && !(error instanceof UnreadableAnswer);
    if (isCertain) throw error;
    const message = `${(error as Error).message}. It may still have been done: look at your authorizations on the platform before you try again.`;
    throw new KitError("authorization_unknown", message, { cause: error });
  }
}

/** A parser of an option's text. */
const like = (pattern: RegExp, what: string) => (text: string) => {
  if (pattern.test(text)) return text;
  throw new UsedWrongly(`"${text}" is not ${what}.`);
};

/** The words of the status site's icons; any other status is shown unchanged. */
const ICONS: Readonly<Record<string, string>> = {
  green: "Available",
  yellow: "Performance Degradation",
  red: "Service Disruption",
  blue: "Maintenance",
  maintenance: "Maintenance",
};

interface Asked {
  since?: string;
  perPage?: string;
  incident?: string;
}

export function addStatus(program: KitCommand): void {
  program
    .command("status")
    .summary("the platform's status feed")
    .option(
      "--since <YYYY-MM-DD>",
      "the incidents since that day",
      like(/^\d{4}-\d\d-\d\d$/, "a day, like 2026-01-31"),
    )
    .option("--per-page <n>", "so many incidents", like(/^[1-9]\d{0,8}$/, "a whole number from 1 on"))
    .addOption(new Option("--incident <id>", "that incident").conflicts(["since", "perPage"]))
    .description("how the platform is: its status feed (the service does not depend on it)")
    .does((session, { since, perPage, incident }: Asked) => {
      const { platformStatusUrl: statusUrl } = session.settings(["platformStatusUrl"]);
      return withHttp(async (http) => {
        const feed = { http, statusUrl };
        if (incident !== undefined) {
          const { json, value } = await oneIncident(feed, incident);
          return { data: json, show: (paint) => incidentText(paint, value) };
        }
        if (since !== undefined || perPage !== undefined) {
          const { json, value } = await listed(feed, {
            since,
            perPage: perPage ? Number(perPage) : undefined,
          });
          return { data: json, show: (paint) => incidentsText(paint, "incident", value) };
        }
        const { json, value } = await currentStatus(feed);
        const open = openIncidents(value);
        const coming = value.scheduled.filter(({ resolved }) => !resolved);
        return {
          data: json,
          show: (paint) =>
            [
              ...value.status.map(({ system, status }) => safe(`${system}: ${ICONS[status] ?? status}`)),
              open === null
                ? "The feed has no list of incidents."
                : incidentsText(paint, "open incident", open),
              incidentsText(paint, "maintenance window", coming),
            ].join("\n"),
        };
      });
    });
}

function incidentsText(paint: Paint, what: string, incidents: readonly Incident[]): string {
  return [`${counted(incidents.length, what)}.`, ...incidents.map((each) => incidentText(paint, each))].join(
    "\n",
  );
}

function incidentText(
  paint: Paint,
  { id, title, state, resolved, created_at: begin, updates }: Incident,
): string {
  const head = paint.bold(safe(id === null ? title : `#${id} ${title}`));
  const word = resolved ? "resolved" : (state ?? "open");
  return [
    `${head}  ${safe(word)}${begin ? `, since ${safe(moment(begin))}` : ""}`,
    ...updates.map(({ created_at: at, update_type: type, contents }) =>
      safeLines([at && moment(at), type, contents].filter(Boolean).join("  "), "    "),
    ),
  ].join("\n  ");
}
