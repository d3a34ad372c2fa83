/** A fully-qualified URL, of any scheme. */
export function isFullUrl(successUrl: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\/\S/.test(successUrl);
}

/** "A fully-qualified URL is used as is; a value starting with `/` is a path in the new app." Null: it is neither. */
export function resolveSuccessUrl(successUrl: string | null, webUrl: string): string | null {
  if (successUrl === null || isFullUrl(successUrl)) return successUrl;
  return successUrl.startsWith("/") ? webUrl.replace(/\/$/, "") + successUrl : null;
}
