import http from "node:http";
import { tokensOf } from "../provisions.ts";

// The floor of a refresh sweep against an endpoint that answers at once: the same calls, with the same concurrency,
// through node's own client and keep-alive connections. Each answer is read and dropped: no database, nothing sealed,
// no log.

const [count, atOnce] = [Number(process.env["COUNT"]), Number(process.env["AT_ONCE"])];
const url = new URL("/oauth/token", process.env["PLATFORM_AUTH_URL"]);
const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });
const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
// Of a URL, Node would copy all members for each call.
const { hostname, port, pathname: path } = url;

function refresh(uuid: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request({ method: "POST", hostname, port, path, agent, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => (body += text));
      response.on("end", () => resolve((JSON.parse(body) as { access_token: string }).access_token));
    });
    request.on("error", reject);
    request.end(
      new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: tokensOf(uuid, 1).refreshToken,
        client_secret: process.env["CLIENT_SECRET"]!,
      }).toString(),
    );
  });
}

async function sweep(calls: number): Promise<void> {
  let begun = 0;
  const one = async () => {
    while (begun < calls) {
      const uuid = `01234567-89ab-4def-8123-${String(begun++).padStart(12, "0")}`;
      if (!(await refresh(uuid)).includes(uuid)) throw new Error(`A wrong token for ${uuid}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

await sweep(count / 4);
const startedAt = performance.now();
await sweep(count);
console.log(JSON.stringify({ perSecond: count / ((performance.now() - startedAt) / 1_000) }));
process.exit();
