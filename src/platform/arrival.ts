/** Failures of name resolution, routing, connecting, and of checking the certificate: nothing was written yet. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|ERR_TLS_CERT\w*)$/;

/** Failures of TLS that can come during the handshake or, on a corrupted line, long after it. */
const OF_TLS = /^(EPROTO|ERR_SSL_\w+|ERR_TLS_\w+)$/;

/**
 * Whether the other side may have seen a request that failed with `error`. The answer is no only if that is certain; a
 * reset is always a maybe, also on a reused connection before any byte came back.
 */
export function mayHaveArrived(error: Error, { isSecured }: { isSecured: boolean }): boolean {
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  if (syscall === "connect" || "errors" in error) return false; // `errors`: each of several addresses failed to connect
  if (BEFORE_SENDING.test(code)) return false;
  if (OF_TLS.test(code)) return isSecured;
  return !error.message.includes("before secure TLS connection was established");
}
