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

/** An answer: `body` is sent as JSON, `page` as HTML; without either the body is empty. */
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
  /** True once the answer has been sent. */
  isAnswered: boolean;
  code: string | null;
  /** The number of failed exchanges. */
  failedTries: number;
  accessToken: string | null;
  refreshToken: string | null;
  timers: Set<NodeJS.Timeout>;
  /** The refresh under way, if any: there is only one at a time. */
  refreshing: Promise<void> | null;
}
