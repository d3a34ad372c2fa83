import { isApi, needsSecret, plainAttempt, repliesOf } from "../probes.ts";
import { holds, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import { basic } from "../stage/service-calls.ts";

export const secrets: RuleGroup = {
  title: "Secrets",
  rules: [
    {
      id: "SECR-01",
      title: "No answer of the service holds the add-on's password or the client secret",
      section: assumed(1),
      severity: "must",
      mend: "Never echo what was sent, nor your settings, in an answer.",
      isLast: true,
      async check(stage) {
        const { books, settings } = stage;
        const { addonId, addonPassword } = settings;
        // Where it was not given, the service's own calls tell it.
        const sent = books.calls.find(({ form }) => form["client_secret"])?.form["client_secret"];
        const known = {
          password: addonPassword,
          "password in Base64": basic(addonId, addonPassword).replace("Basic ", ""),
          "client secret": settings.clientSecret ?? sent ?? "",
        };
        for (const [what, secret] of Object.entries(known)) {
          if (standsByChance(secret)) continue;
          const found = repliesOf(stage).find((reply) => holdsOne(said(reply), writings(secret)));
          holds(!found, `The ${what} stands in an answer with ${found?.status}.`);
        }
      },
    },
    {
      id: "SECR-02",
      title: "No answer of the service holds a grant code or a token",
      section: assumed(3),
      severity: "must",
      mend: "Take what you answer member by member; do not send the request's body back.",
      isLast: true,
      async check(stage) {
        const { books } = stage;
        const known = [...books.codes.keys(), ...books.tokens.keys()];
        const found = repliesOf(stage).find((reply) => {
          const all = said(reply);
          return known.some((secret) => all.includes(secret));
        });
        holds(!found, `A code or a token stands in an answer with ${found?.status}.`);
      },
    },
    {
      id: "SECR-03",
      title: "The client secret goes to the token endpoint alone",
      section: platform(
        "Authentication",
        "The client secret only authenticates token creation and refresh, never other platform API calls",
      ),
      severity: "must",
      mend: "Send it with exchanges and refreshes, and nowhere else.",
      isLast: true,
      async check(stage) {
        needsSecret(stage);
        await plainAttempt(stage);
        const secret = stage.settings.clientSecret!;
        const found = stage.books.calls.filter(isApi).find((call) => {
          const { path, headers, text } = call;
          const all = `${path} ${JSON.stringify(headers)} ${basicIn(headers.authorization)} ${text}`;
          return holdsOne(all, writings(secret));
        });
        holds(!found, `It was sent along with ${found?.method} of the platform API.`);
      },
    },
    {
      id: "SECR-04",
      title: "No answer names the framework that made it",
      section: assumed(1),
      severity: "should",
      mend: "Turn the X-Powered-By header off, and the version in Server.",
      isLast: true,
      async check(stage) {
        const replies = repliesOf(stage);
        const found = replies.find(({ headers }) => headers["x-powered-by"] !== undefined);
        holds(!found, "There is an X-Powered-By header.");
        const servers = replies.map(({ headers }) => String(headers["server"] ?? ""));
        const server = servers.find((name) => /\/\d/.test(name));
        holds(!server, `The Server header tells a version: ${server}.`);
      },
    },
  ],
};

/** A short secret, or a word such as "password", may occur in an answer by chance. */
const standsByChance = (secret: string) => secret.length < 8 || /^[a-z]+$/i.test(secret);

/** The credentials of a Basic header, which are encoded and so not found by a text search. */
function basicIn(authorization = ""): string {
  const [, base64 = ""] = /^Basic +(\S+)/i.exec(authorization) ?? [];
  return Buffer.from(base64, "base64").toString();
}

/** A secret as it is, and escaped for an address, for JSON in the ways of several languages, and for HTML. */
function writings(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const forWeb = inJson.replace(/[&<>]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
  return [
    ...[secret, encodeURIComponent(secret), inJson, forWeb, inJson.replaceAll("/", "\\/")],
    secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  ];
}

const holdsOne = (text: string, forms: readonly string[]) => forms.some((form) => text.includes(form));

const said = ({ text, headers }: { text: string; headers: object }) => `${JSON.stringify(headers)} ${text}`;
