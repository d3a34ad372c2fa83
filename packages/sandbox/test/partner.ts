import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface PartnerRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface PartnerAnswer {
  status: number;
  body?: unknown;
  contentType?: string;
  headers?: Record<string, string | string[]>;
}

/**
 * A partner's service that answers as a test tells it to, by default with success. It listens on any free port, or on
 * `port`.
 */
export async function aPartner(port = 0) {
  const requests: PartnerRequest[] = [];
  let answer: (request: PartnerRequest) => PartnerAnswer | Promise<PartnerAnswer> = success;
  // Nothing is called on a connection that is about to be closed.
  const server = createServer({ keepAliveTimeout: 75_000 }, (req, res) => {
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString()));
    req.on("end", () => {
      // From the service of another test, whose own sandbox had this port before it was stopped.
      if (req.url === "/oauth/token") return void res.writeHead(404).end();
      const request = { method: req.method ?? "", path: req.url ?? "", headers: req.headers, body };
      requests.push(request);
      void Promise.resolve(answer(request)).then(
        ({ status, body, contentType = "application/json", headers }) => {
          res.writeHead(status, { "Content-Type": contentType, ...headers });
          res.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
        },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answers(next: typeof answer | PartnerAnswer) {
      answer = typeof next === "function" ? next : () => next;
    },
    /** Closes all connections, so that calls under way get no answer. */
    drop: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Partner = Awaited<ReturnType<typeof aPartner>>;

export function success({ method, body }: PartnerRequest): PartnerAnswer {
  if (method === "DELETE") return { status: 204 };
  if (method === "PUT") return { status: 200, body: { message: "Changed." } };
  const { uuid } = JSON.parse(body) as { uuid: string };
  return {
    status: 200,
    body: { id: uuid, message: "Ready.", config: { WIDGET_URL: "https://w.example.com" } },
  };
}
