import type { RequestHandler } from "express";

/**
 * Gives every answer the id of its request as `Request-Id` (`request.id`, see logging/request-log.ts), and the headers
 * that every answer has. Our subdomains may belong to others, so the transport rule is not extended to them.
 */
export const answerWithRequestId: RequestHandler = (request, response, next) => {
  response.setHeader("Strict-Transport-Security", "max-age=31536000");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Request-Id", String(request.id));
  next();
};
