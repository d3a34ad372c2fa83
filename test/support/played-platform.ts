import type { IncomingHttpHeaders } from "node:http";
import nock, { type Body } from "nock";

/** Where the platform is that is played. */
export const PLAYED = {
  PLATFORM_API_URL: "https://api.platform.example",
  PLATFORM_AUTH_URL: "https://id.platform.example",
  PLATFORM_STATUS_URL: "https://status.platform.example",
};

/** A call that the platform answered. */
export interface Sent {
  /** As it was declared: `PATCH /addons/…/config`. */
  call: string;
  /** A form's members, or the JSON. */
  body: Record<string, unknown>;
  /** The body as it was sent, of a form; of any other, its JSON; empty if there was none. */
  text: string;
  headers: IncomingHttpHeaders;
  authorization: string | undefined;
  at: Date;
}

/** An answer of the platform's: 200 with an empty object unless it says otherwise. */
export interface Answer {
  status?: number;
  body?: Body;
  headers?: Record<string, string>;
  /**
   * Instead of an answer: the platform cannot be reached, or is silent. To the caller neither looks as if the call had
   * arrived: an answer that is lost needs a socket, as with the sandbox's fault `reset`.
   */
  instead?: "no connection" | "silence";
}

/** Longer than any call waits. Whoever closes the platform ends what still waits. */
const SILENCE_MS = 600_000;

/**
 * The platform, played by nock: each answer is declared before its call, and the network is closed, so that a call that
 * was not declared fails. Only 127.0.0.1 is reached, where the tests have their own servers.
 */
export function playPlatform() {
  if (!nock.isActive()) nock.activate();
  nock.enableNetConnect(isOwnServer);
  const sent: Sent[] = [];
  const undeclared: string[] = [];
  const note = (request: Asked, options: Asked = request) => {
    const { method = "GET", hostname, host = hostname, path } = options;
    if (!isOwnServer(host!)) undeclared.push(`${method} ${host!.replace(/:443$/, "")}${path}`);
  };
  nock.emitter.on("no match", note);

  /**
   * Declares the answer to one call, with these members in its body; of several for it, the first that is left.
   * The path says which of the platform's hosts is called.
   */
  function answers(call: string, answer: Answer = {}, members: Record<string, string> = {}): void {
    const [method, path] = call.split(" ") as [string, string];
    const { status = 200, body = {}, headers = {}, instead } = answer;
    const isMeant = (body: Record<string, unknown>) =>
      Object.entries(members).every(([name, value]) => body[name] === value);
    const declared = nock(hostOf(path)).intercept(path, method, isMeant);
    if (instead === "no connection") return void declared.replyWithError("connect ECONNREFUSED");
    if (instead === "silence") declared.delay(SILENCE_MS);
    declared.reply(function (_uri, requestBody) {
      sent.push(asSent(call, this.req.headers as IncomingHttpHeaders, requestBody));
      return [status, body, headers];
    });
  }

  return {
    sent,
    answers,
    calls: () => sent.map(({ call }) => call),
    /** What was declared and not called; it is forgotten. */
    unused(): string[] {
      const unused = nock.pendingMocks();
      nock.cleanAll();
      return unused;
    },
    /** What was called and not declared, as `GET api.platform.example/apps`; it is forgotten. */
    undeclared: () => undeclared.splice(0),
    /** Opens the network again. */
    close(): void {
      nock.emitter.off("no match", note);
      nock.abortPendingRequests();
      nock.cleanAll();
      nock.enableNetConnect();
      nock.restore();
    },
  };
}

/** The same for the tests of one file. After each of them, every declared call was made, and no other. */
export function playedPlatform() {
  const platform = playPlatform();
  afterEach(() => {
    platform.sent.splice(0);
    expect({ undeclared: platform.undeclared(), unused: platform.unused() }).toEqual({
      undeclared: [],
      unused: [],
    });
  });
  afterAll(platform.close);
  return platform;
}

/** What nock says of a request that it has no answer for. */
type Asked = { method?: string; host?: string; hostname?: string; path?: string };

/** Under its name `localhost` a server is none of ours, so that a test can have a server that no call may reach. */
const isOwnServer = (host: string) => /^127\.0\.0\.1(:\d+)?$/.test(host);

function hostOf(path: string): string {
  if (path === "/oauth/token") return PLAYED.PLATFORM_AUTH_URL;
  return path.startsWith("/api/v4/") ? PLAYED.PLATFORM_STATUS_URL : PLAYED.PLATFORM_API_URL;
}

function asSent(call: string, headers: IncomingHttpHeaders, body: unknown): Sent {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const authorization = [headers.authorization ?? []].flat()[0];
  return { call, body: membersOf(body), text, headers, authorization, at: new Date() };
}

function membersOf(body: unknown): Record<string, unknown> {
  if (typeof body !== "string") return body as Record<string, unknown>;
  return Object.fromEntries(new URLSearchParams(body));
}
