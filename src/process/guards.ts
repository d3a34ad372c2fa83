import type { RequestHandler } from "express";
import { hasMetrics } from "../config.ts";
import { authenticate } from "../http/authenticate.ts";
import { createWrongPasswords } from "../http/wrong-passwords.ts";
import type { OpenContext } from "../open-context.ts";

/** Who lets requests with a password pass; null where none is set. The operator may see the metrics too. */
export function createGuards({ config, metrics, pace, log }: OpenContext): {
  platform: RequestHandler;
  operator: RequestHandler | null;
  metrics: RequestHandler | null;
} {
  const { addonId, addonPassword, addonPasswordPrevious, operatorPassword, metricsPassword } = config;
  const stepMs = pace.wrongPasswordMs;
  const wrongPasswords = createWrongPasswords({ count: metrics.wrongPassword, stepMs, log });
  const operator = ["operator", operatorPassword] as const;
  const platform = {
    door: "platform",
    realm: "add-on partner",
    message: "Send the add-on's id and password with HTTP Basic authentication.",
    logins: [[addonId, addonPassword], [addonId, addonPasswordPrevious]], // prettier-ignore
  } as const;
  const pages = {
    door: "operator",
    realm: "operator",
    message: "Send the user operator and OPERATOR_PASSWORD with HTTP Basic authentication.",
    logins: [operator],
  } as const;
  const scrapes = {
    door: "metrics",
    realm: "metrics",
    message: "Send the user metrics and METRICS_PASSWORD with HTTP Basic authentication.",
    logins: [["metrics", metricsPassword], operator],
  } as const;
  return {
    platform: authenticate(platform, wrongPasswords),
    operator: operatorPassword ? authenticate(pages, wrongPasswords) : null,
    metrics: hasMetrics(config) ? authenticate(scrapes, wrongPasswords) : null,
  };
}
