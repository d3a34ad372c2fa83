const LONGEST = 1_000;

/**
 * Where to go after signing in: a path of this service, or null if `given` is none. Refuses whatever a browser could
 * read as another host (`//evil`, `/\evil`, with a tab in between, or hidden behind dot segments).
 */
export function localPath(given: string): string | null {
  if (given.length > LONGEST || !/^\/(?!\/)[^\p{Cc}\s\\]*$/u.test(given)) return null;
  const url = URL.canParse(given, OURS) ? new URL(given, OURS) : null;
  if (url?.origin !== OURS || url.pathname.startsWith("//")) return null;
  return url.pathname + url.search + url.hash;
}

const OURS = "http://ours.invalid";
