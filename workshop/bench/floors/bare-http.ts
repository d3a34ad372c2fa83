import http from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";

// The floor of all works that answer a provision: node's own HTTP server, and one prepared INSERT for each request. No
// authentication, no checks, no log, nothing sealed; but it answers only when its row is durable.

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 10 });
await pool.query(
  `CREATE TABLE IF NOT EXISTS floor (uuid uuid PRIMARY KEY, plan text, region text, code text)`,
);

const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { uuid, plan, region, oauth_grant } = JSON.parse(Buffer.concat(chunks).toString());
    pool
      .query({
        name: "insert",
        text: "INSERT INTO floor (uuid, plan, region, code) VALUES ($1, $2, $3, $4)",
        values: [uuid, plan, region, oauth_grant.code],
      })
      .then(
        () => {
          const body = JSON.stringify({ id: uuid, message: "Your teapot is being fired." });
          response
            .writeHead(202, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) })
            .end(body);
        },
        (error: Error) => response.writeHead(500).end(error.message),
      );
  });
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
