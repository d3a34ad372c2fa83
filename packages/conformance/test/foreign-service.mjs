// A partner service as a third party would write it, in one page: no sign-on, nothing asynchronous, and one mistake,
// which is that it does not check the user's name. It shares no code with the kit or the example. It records in the
// file BOOK what it makes and, a little after its 204, removes; FOREIGN selects further behaviour, right or wrong.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { setTimeout } from "node:timers";

const { PORT, ADDON_ID, ADDON_PASSWORD, CLIENT_SECRET, PLATFORM_AUTH_URL, BOOK, FOREIGN } = process.env;
const note = (what, uuid) => BOOK && appendFileSync(BOOK, `${what} ${uuid}\n`);
const PLANS = ["small", "large"];
const resources = new Map();

async function exchange(code, waitMs = 100) {
  const form = { grant_type: "authorization_code", code, client_secret: CLIENT_SECRET };
  const body = new globalThis.URLSearchParams(form);
  const answer = await globalThis.fetch(`${PLATFORM_AUTH_URL}/oauth/token`, { method: "POST", body });
  if (!answer.ok) setTimeout(() => void exchange(code, waitMs * 2), waitMs);
}

function provision({ uuid, plan, oauth_grant: grant }) {
  const known = resources.get(uuid);
  if (known) return known.isGone ? [410, "It is gone."] : [200, known.answer];
  if (typeof uuid !== "string" || !PLANS.includes(plan)) return [422, "Which uuid, which plan?"];
  const answer = { id: uuid, message: "Ready.", config: { FOREIGN_URL: `https://foreign.example/${uuid}` } };
  if (FOREIGN === "ends soon" && resources.size === 2) {
    process.stderr.write("Out of memory.\n");
    process.exit(3);
  }
  resources.set(uuid, { answer, isGone: false });
  note("made", uuid);
  return [200, answer, () => grant?.code && exchange(grant.code)];
}

function act(method, uuid, members) {
  if (method === "POST" && !uuid) return provision(members);
  const known = resources.get(uuid);
  if (!known) return [404, "There is none."];
  if (known.isGone) return [410, "It is gone."];
  if (method === "DELETE") {
    if (FOREIGN === "lets nothing go") return [500, "Not today."];
    known.isGone = true;
    return [204, undefined, () => setTimeout(() => note("gone", uuid), 300)];
  }
  return PLANS.includes(members.plan) ? [200, { message: "Changed." }] : [422, "Which plan?"];
}

createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const [, base64 = ""] = (request.headers.authorization ?? "").split(" ");
  const credentials = globalThis.atob(base64.replace(/[^\w+/=]/g, ""));
  const isRight = credentials === `${ADDON_ID}:${ADDON_PASSWORD}`;
  const isPlatform = isRight || (FOREIGN !== "good" && credentials.endsWith(`:${ADDON_PASSWORD}`));
  let [status, said, after] = [401, "Who are you?"];
  if (isPlatform)
    try {
      [status, said, after] = act(
        request.method,
        decodeURIComponent(request.url.split("/")[2] ?? ""),
        JSON.parse(text || "{}") ?? {},
      );
    } catch {
      [status, said] = [400, "That is no JSON."];
    }
  const body = typeof said === "string" ? { id: "refused", message: said } : said;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body && JSON.stringify(body), () => after && setTimeout(after, 50));
}).listen(Number(PORT), "127.0.0.1");
