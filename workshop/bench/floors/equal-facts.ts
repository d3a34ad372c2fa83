import { randomBytes } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";

// The floor of equal facts: node's own HTTP server that writes, by hand, the very rows that the service writes for a
// provision, a statement for each write of a request. No framework, log, authentication or checks, and random bytes of
// the same length in place of what is sealed. `dedicated` is answered 202 after one write, any other plan 200 after two.

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 10 });

/** An envelope has 57 bytes more than its text. */
const sealed = (text: string) => randomBytes(57 + Buffer.byteLength(text));

const STORE = `WITH resource AS (
    INSERT INTO resources (uuid, plan, name, region, options, callback_url, answer_status, sealed_answer)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ), credential AS (
    INSERT INTO credentials (uuid, sealed_grant_code, grant_expires_at, request_id, state, grant_number, grant_deadline, due_at)
    VALUES ($1, $9, $10, $11, 'grant_pending', 1, now() + interval '305 seconds', CASE WHEN $7::int IS NOT NULL THEN now() END)
  )
  INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, request_id)
  SELECT $1, $1, CASE WHEN $7::int IS NULL THEN 'provision' ELSE 'finish' END, CASE WHEN $7::int IS NULL THEN now() END,
    CASE WHEN $7::int IS NULL THEN 1 ELSE 0 END, 1, CASE WHEN $7::int IS NULL THEN now() + interval '30 seconds' END, $11`;

const ANSWER = `WITH resource AS (
    UPDATE resources SET state = 'provisioned', answer_status = 200, sealed_answer = $2, sealed_config = $3, updated_at = now()
    WHERE uuid = $1
  ), credential AS (UPDATE credentials SET due_at = now() WHERE uuid = $1)
  DELETE FROM steps WHERE uuid = $1`;

interface Provision {
  uuid: string;
  plan: string;
  name: string;
  region: string;
  options: object;
  callback_url: string;
  oauth_grant: { code: string; expires_at: string };
}

async function provision(wanted: Provision): Promise<{ status: number; body: string }> {
  const { uuid, plan, name, region, options, callback_url: callbackUrl, oauth_grant: grant } = wanted;
  const isLater = plan === "dedicated";
  const later = JSON.stringify({ id: uuid, message: "Your teapot is being fired." });
  const answer = isLater ? [202, sealed(later)] : [null, null];
  const request = [uuid, plan, name, region, JSON.stringify(options), callbackUrl, ...answer];
  const values = [...request, sealed(grant.code), grant.expires_at, crypto.randomUUID()];
  await pool.query({ name: "store", text: STORE, values });
  if (isLater) return { status: 202, body: later };
  const config = { TEAPOT_URL: `https://teapots.example/${uuid}` };
  const body = JSON.stringify({ id: uuid, config });
  await pool.query({
    name: "answer",
    text: ANSWER,
    values: [uuid, sealed(body), sealed(JSON.stringify(config))],
  });
  return { status: 200, body };
}

const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    provision(JSON.parse(Buffer.concat(chunks).toString()) as Provision).then(
      ({ status, body }) =>
        response
          .writeHead(status, {
            "Content-Type": "application/json",
            "Content-Length": Buffer.byteLength(body),
          })
          .end(body),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
