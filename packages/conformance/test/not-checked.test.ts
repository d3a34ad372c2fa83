// Where no rule can be judged: one error at the start, or once the service is gone, in each form of the report.

import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { freePort } from "../free-port.ts";
import { conformance } from "./command.ts";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));

type Serve = (request: IncomingMessage, response: ServerResponse) => unknown;

const credentials = `Basic ${Buffer.from("mine:the-password").toString("base64")}`;

/** A service that knows the platform by these credentials, and sells everything. */
function sells(request: IncomingMessage, response: ServerResponse, refusal = 401): void {
  request.resume();
  const isKnown = request.headers.authorization === credentials;
  const status = !isKnown ? refusal : request.method === "POST" ? 200 : 404;
  response.writeHead(status, { "content-type": "application/json" }).end('{"id":"x","message":"Always."}');
}

/** Sells for a while, and then does this. */
function later(serve: Serve): Serve {
  /** How many requests came, by the port of the server: two runs with a server each go on at the same time. */
  const counts = new Map<number, number>();
  return (request, response) => {
    const port = request.socket.localPort!;
    const count = (counts.get(port) ?? 0) + 1;
    counts.set(port, count);
    return count > 40 ? serve(request, response) : sells(request, response);
  };
}

async function listening(server: Server): Promise<{ server: Server; port: number }> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

const byHttp = (serve: Serve) => () =>
  listening(createServer((request, response) => void serve(request, response)));

async function byTls() {
  const pem = await readFile(fileURLToPath(new URL("untrusted.pem", import.meta.url)));
  return listening(createTlsServer({ key: pem, cert: pem }, (_request, response) => void response.end()));
}

const byTcp = (greeting: string) => () =>
  listening(
    createTcpServer((socket) => {
      socket.on("error", () => undefined);
      if (greeting) socket.write(greeting);
    }),
  );

async function nobody() {
  return { server: createServer(), port: await freePort() };
}

interface Row {
  what: string;
  serve(): Promise<{ server: Server; port: number }>;
  says: RegExp;
  url?(port: number): string;
  words?: string[];
  /** Whether something is waited for that long that it has to be named. */
  isSlow?: true;
  /** Shown in each form of the report: as JSON and JUnit, and for people. */
  inEachForm?: true;
}

const moved: Serve = (_request, response) =>
  response.writeHead(302, { location: "https://shop.example/login?token=secret" }).end();

const rows: Row[] = [
  {
    what: "nobody answers",
    serve: nobody,
    says: /^Nobody answers at http:.*ECONNREFUSED/,
    inEachForm: true,
  },
  {
    what: "the host has no address",
    serve: nobody,
    url: () => "http://no-such-host.invalid:3000",
    says: /^The name in http:\/\/no-such-host\.invalid:3000 is not known \(DNS\): .*(ENOTFOUND|EAI_AGAIN)/,
  },
  {
    what: "the password is wrong",
    serve: byHttp(sells),
    words: ["--password", "another"],
    says: /^The service does not accept the add-on's id "mine" with this password: .* 401\. Compare both/,
  },
  {
    what: "the id is wrong",
    serve: byHttp(sells),
    words: ["--id", "another"],
    says: /^The service does not accept the add-on's id "another" with this password: /,
  },
  {
    what: "the password is wrong, and strangers get 403",
    serve: byHttp((request, response) => sells(request, response, 403)),
    words: ["--password", "another"],
    says: /^The service does not accept the add-on's id "mine" with this password: .* 403\. Compare both/,
  },
  {
    what: "the path is wrong",
    serve: byHttp((request, response) =>
      request.url === "/resources" ? sells(request, response) : response.writeHead(404).end(),
    ),
    words: ["--resources-path", "/addons"],
    says: /^A provision \(POST http:.*\/addons\) was answered with 404: .* --resources-path/,
  },
  {
    what: "the address leads elsewhere",
    serve: byHttp(moved),
    says: /was answered with 302, a redirect to https:\/\/shop\.example\/login, which the platform does not follow/,
  },
  {
    what: "the certificate is of nobody known",
    serve: byTls,
    url: (port) => `https://127.0.0.1:${port}`,
    says: /^The certificate of https:.* is not trusted: .*NODE_EXTRA_CA_CERTS=/,
  },
  { what: "the service wants TLS", serve: byTls, says: /^http:.* Is its address https:\/\/…\?$/ },
  {
    what: "the service has no TLS",
    serve: byHttp(sells),
    url: (port) => `https://127.0.0.1:${port}`,
    says: /^https:.* speaks no TLS: .*Is its address http:\/\/…\?$/,
  },
  {
    what: "something else listens",
    serve: byTcp("SSH-2.0-OpenSSH_9.2\r\n"),
    says: /^What answers at http:.* speaks no HTTP: /,
  },
  {
    what: "nothing is said",
    serve: byTcp(""),
    says: /^http:.* takes connections and answers nothing by HTTP: There was no answer within 10 s\.$/,
    isSlow: true,
  },
  {
    what: "an answer has no end",
    serve: byHttp((_request, response) => {
      const more = () => void (response.write("x".repeat(65_536)) && setImmediate(more));
      response.on("drain", more).on("error", () => undefined);
      more();
    }),
    says: /^http:.* gives no usable answer: The body has more than 4 MB\.$/,
  },
  {
    what: "a provision is not answered",
    serve: byHttp((request, response) => request.method === "POST" || sells(request, response)),
    says: /^A provision \(POST .*\) got no answer: There was no answer within 20 s\.$/,
    isSlow: true,
  },
  {
    what: "the service hangs during the run",
    serve: byHttp(later(() => undefined)),
    says: /^The service stopped answering in the middle of the run, after \d+ answers\.$/,
    isSlow: true,
  },
  {
    what: "the service hangs up during the run",
    serve: byHttp(later(({ socket }) => socket.destroy())),
    says: /^The service stopped answering in the middle of the run, after \d+ answers\.$/,
    inEachForm: true,
  },
];

it.concurrent.each(rows)(
  "ends with one error where $what",
  async ({ serve, says, url = (port) => `http://127.0.0.1:${port}`, words = [], isSlow, inEachForm }) => {
    const junit = path.join(folder, `${await freePort()}.xml`);
    const forms = inEachForm ? [["--json", "--junit", junit], []] : [["--json"]];
    const [json, human] = await Promise.all(
      forms.map(async (form) => {
        const { server, port } = await serve();
        const own = ["--platform-port", String(await freePort()), "--url", url(port), ...words, ...form];
        const ended = await conformance(folder, "--id", "mine", "--password", "the-password", ...own);
        if ("closeAllConnections" in server) (server as HttpServer).closeAllConnections();
        server.close();
        return ended;
      }),
    );
    const { message, ...others } = JSON.parse(json!.stdout) as { message: string };
    expect({ code: json!.code, others }).toEqual({ code: 1, others: { id: "not_checked" } });
    expect(message).toMatch(says);
    expect(json!.stderr).toMatch(
      isSlow ? /^Waiting for .*, for \d+ s now\.\n/ : /^(Waiting .*\n)*(Left [^]*)?$/,
    );
    if (/in the middle/.test(message)) expect(json!.stderr).toMatch(/^Left at your service, /m);
    expect(`${json!.stderr}${human?.stderr}${message}`).not.toContain("the-password");
    if (!human) return;
    expect(await readFile(junit, "utf8")).toMatch(/ errors="1" [^]*<error message=/);
    expect(human).toMatchObject({ code: 1, stdout: "" });
    expect(/^✗ (.*)$/m.exec(human.stderr)?.[1]).toMatch(says);
  },
  600_000,
);

it("refuses an address with a password, and does not show it", async () => {
  const words = ["--id", "mine", "--url", "http://mine:the-password@127.0.0.1:9"];
  const { code, stdout, stderr } = await conformance(folder, ...words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^✗ --url must be an address without user, password, query and fragment/);
  expect(stderr).not.toContain("the-password");
});
