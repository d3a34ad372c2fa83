import type { IncomingHttpHeaders } from "node:http";

export interface ServiceSettings {
  port: number;
  addonId: string;
  addonPassword: string;
  clientSecret: string;
  ssoSalt: string | null;
  platformApiUrl: string;
  platformAuthUrl: string;
}

export interface Request {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** What is answered; a body is sent as JSON, a page as it is, and neither where there is none. */
export interface Answer {
  status: number;
  body?: object;
  page?: string;
  headers?: Record<string, string>;
}

export interface Resource {
  uuid: string;
  plan: string;
  /** The answer to its provision, as it was sent. */
  answer: Answer;
  isGone: boolean;
  /** The answer has gone out. */
  isAnswered: boolean;
  code: string | null;
  /** So many exchanges have failed. */
  failedTries: number;
  accessToken: string | null;
  refreshToken: string | null;
  timers: Set<NodeJS.Timeout>;
  /** One at a time. */
  refreshing: Promise<void> | null;
}
