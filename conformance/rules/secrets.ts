import { isApi, needsSecret } from "../probes.ts";
import { holds, type RuleGroup } from "../rule.ts";
import { decisions, platform } from "../sections.ts";

export const secrets: RuleGroup = {
  title: "Secrets",
  rules: [
    {
      id: "SECR-01",
      title: "No answer of the service holds the add-on's password or the client secret",
      section: platform("Authentication"),
      severity: "must",
      mend: "Never echo what was sent, nor your settings, in an answer.",
      isLast: true,
      async check({ books, settings }) {
        const { addonPassword, clientSecret } = settings;
        for (const [what, secret] of Object.entries({
          password: addonPassword,
          "client secret": clientSecret,
        })) {
          const found = secret && books.replies.find((reply) => said(reply).includes(secret));
          holds(!found, `The ${what} stands in an answer with ${found && found.status}.`);
        }
      },
    },
    {
      id: "SECR-02",
      title: "No answer of the service holds a grant code or a token",
      section: platform("Authentication"),
      severity: "must",
      mend: "Take what you answer member by member; do not send the request's body back.",
      isLast: true,
      async check({ books }) {
        const known = [...books.codes.keys(), ...books.tokens.keys()];
        const found = books.replies.find((reply) => {
          const all = said(reply);
          return known.some((secret) => all.includes(secret));
        });
        holds(!found, `A code or a token stands in an answer with ${found?.status}.`);
      },
    },
    {
      id: "SECR-03",
      title: "The client secret goes to the token endpoint alone",
      section: platform("Authorization service"),
      severity: "must",
      mend: "Send it with exchanges and refreshes, and nowhere else.",
      isLast: true,
      async check(stage) {
        needsSecret(stage);
        const secret = stage.settings.clientSecret!;
        const found = stage.books.calls.filter(isApi).find((call) => {
          const all = `${call.path} ${JSON.stringify(call.headers)} ${call.text}`;
          return all.includes(secret) || all.includes(encodeURIComponent(secret));
        });
        holds(!found, `It was sent along with ${found?.method} of the platform API.`);
      },
    },
    {
      id: "SECR-04",
      title: "No answer names the framework that made it",
      section: decisions(1),
      severity: "should",
      mend: "Turn the X-Powered-By header off, and the version in Server.",
      isLast: true,
      async check({ books }) {
        const found = books.replies.find(({ headers }) => headers["x-powered-by"] !== undefined);
        holds(!found, "There is an X-Powered-By header.");
        const servers = books.replies.map(({ headers }) => String(headers["server"] ?? ""));
        const server = servers.find((name) => /\/\d/.test(name));
        holds(!server, `The Server header tells a version: ${server}.`);
      },
    },
  ],
};

const said = ({ text, headers }: { text: string; headers: object }) => `${JSON.stringify(headers)} ${text}`;
