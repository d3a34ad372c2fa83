/** Where routers of the kit stand, beside that for the platform's calls. */
export const ROUTER_PATHS = ["/metrics", "/oauth", "/sso", "/customer", "/operator"];

const OWN_PATHS = ["/healthz", "/readyz", "/assets", ...ROUTER_PATHS];

/** Whether the kit answers at this path itself: a router that stands before its own would answer in their place. */
export function isOwnPath(path: string): boolean {
  return OWN_PATHS.some((own) => `${path.toLowerCase()}/`.startsWith(`${own}/`));
}
