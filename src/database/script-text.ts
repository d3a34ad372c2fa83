/**
 * Quoted names; and what is not a statement: comments, strings, and bodies of functions, where END means something else.
 */
const NAME_OR_TEXT =
  /("[^"]*")|--.*|\/\*[^]*?\*\/|\bE'(?:\\[^]|[^'\\])*'|'[^']*'|(\$\w*\$)[^]*?\2|\bBEGIN\s+ATOMIC\b[^]*?;\s*END\b/gi;
const GOES_ON_AFTER_COMMIT = /(^|;)\s*(COMMIT|END)\b[^;]*;\s*\S/i;

/** The statements of a script, without comments, strings and bodies of functions. */
export function statementsOf(script: string): string[] {
  return script.replace(NAME_OR_TEXT, (_, name?: string) => name ?? " ").split(";");
}

/** Whether a script goes on after a COMMIT of its own. */
export function goesOnAfterCommit(script: string): boolean {
  return GOES_ON_AFTER_COMMIT.test(script.replace(NAME_OR_TEXT, " "));
}
