/** A statement of a script, without its semicolon and without the comments before it. */
export interface SqlStatement {
  text: string;
  /** The line of the script on which it begins, counted from 1. */
  line: number;
  /** The statement's words, names, strings and signs, without comments and white space. */
  tokens: string[];
}

// PostgreSQL's lexical rules: https://www.postgresql.org/docs/current/sql-syntax-lexical.html. As for PostgreSQL, a string or
// comment without an end reaches to the end of the script. A doubled quote counts as the end of one string and the begin of
// the next.
const LETTER = "[A-Za-z_\\u0080-\\u{10ffff}]";
const LETTER_OR_DIGIT = "[\\w\\u0080-\\u{10ffff}]";
const ESCAPED = "'[^'\\\\]*(?:(?:\\\\[^]|'')[^'\\\\]*)*(?:'|$)";
const TOKEN = new RegExp(
  [
    "(?<blank>[\\s\\ufeff]+|--[^\\r\\n]*)",
    "(?<comment>/\\*)",
    `[eE]${ESCAPED}(?:\\s*[\\r\\n]\\s*${ESCAPED})*`,
    "'[^']*(?:'|$)",
    '"(?:[^"]|"")*(?:"|$)',
    `\\$(?<tag>(?:${LETTER}${LETTER_OR_DIGIT}*)?)\\$[^]*?(?:\\$\\k<tag>\\$|$)`,
    `${LETTER}(?:${LETTER_OR_DIGIT}|\\$)*`,
    "[^]",
  ].join("|"),
  "uy",
);

/** The statements of a script, split where psql would split them. */
export function statementsOf(script: string): SqlStatement[] {
  const found: SqlStatement[] = [];
  let [tokens, begin, end, line] = [[] as string[], 0, 0, 1];
  let depth = depthOf();
  for (let at = 0; at < script.length;) {
    const { text, isBlank } = tokenAt(script, at);
    const isEnd = text === ";" && !depth.isInside();
    if (!isBlank && !isEnd) {
      if (tokens.length === 0) {
        line += script.slice(begin, at).split("\n").length - 1;
        begin = at;
      }
      tokens.push(text);
      depth.see(text, tokens);
      end = at + text.length;
    }
    at += text.length;
    if (tokens.length === 0 || (!isEnd && at < script.length)) continue;
    found.push({ text: script.slice(begin, end), line, tokens });
    [tokens, depth] = [[], depthOf()];
  }
  return found;
}

function tokenAt(script: string, at: number): { text: string; isBlank: boolean } {
  TOKEN.lastIndex = at;
  const { 0: text, groups } = TOKEN.exec(script)!;
  if (groups!["comment"] === undefined) return { text, isBlank: groups!["blank"] !== undefined };
  // Block comments can be nested.
  const mark = /\/\*|\*\//g;
  mark.lastIndex = at;
  let open = 0;
  for (let found; (found = mark.exec(script));) {
    open += found[0] === "/*" ? 1 : -1;
    if (open === 0) return { text: script.slice(at, mark.lastIndex), isBlank: true };
  }
  return { text: script.slice(at), isBlank: true };
}

const ROUTINE = /^CREATE (OR REPLACE )?(FUNCTION|PROCEDURE)\b/i;

/** Tracks whether a semicolon is inside a statement: in brackets (a rule), or in a routine's body, BEGIN ATOMIC … END. */
function depthOf() {
  let [brackets, blocks] = [0, 0];
  return {
    isInside: () => brackets + blocks > 0,
    see(token: string, before: readonly string[]): void {
      if (token === "(") brackets += 1;
      if (token === ")") brackets = Math.max(brackets - 1, 0);
      if (brackets > 0 || !/^(begin|case|end)$/i.test(token) || !ROUTINE.test(headOf(before, 4))) return;
      if (/begin/i.test(token) || (/case/i.test(token) && blocks > 0)) blocks += 1;
      else if (/end/i.test(token)) blocks = Math.max(blocks - 1, 0);
    },
  };
}

const headOf = (tokens: readonly string[], count: number) => tokens.slice(0, count).join(" ");

const CONTROL =
  /^(BEGIN|START TRANSACTION|COMMIT|END|ABORT|ROLLBACK|SAVEPOINT|RELEASE|PREPARE TRANSACTION|SET ((LOCAL|SESSION) )?TRANSACTION)\b/i;

/** Whether a statement begins or ends a transaction or a savepoint. */
export const controlsTransaction = ({ tokens }: SqlStatement) => CONTROL.test(headOf(tokens, 3));

export const isConcurrent = ({ tokens }: SqlStatement) =>
  tokens.some((token) => /^concurrently$/i.test(token));

const NAME = String.raw`(?:"(?:[^"]|"")*"|[^\s"().]+)`;
const QUALIFIED = `${NAME}(?: \\. ${NAME})*`;
const CREATES_INDEX = new RegExp(
  `^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?(?<index>${NAME}) ON (?:ONLY )?(?<on>${QUALIFIED})`,
  "i",
);
const REBUILDS_INDEX = new RegExp(
  `^REINDEX (?=.*CONCURRENTLY)(?:\\( .*? \\) )?(?:INDEX|TABLE) (?:CONCURRENTLY )?(?<on>${QUALIFIED})`,
  "i",
);

/**
 * Identifies the invalid indexes that an interrupted attempt of this statement may have left. `on`: the table or index, as
 * the statement writes it. `index`: the name of the index; `null` for the names that REINDEX CONCURRENTLY makes. Returns
 * `null` if the statement makes no named index.
 */
export function indexOf({ tokens }: SqlStatement): { on: string; index: string | null } | null {
  const head = headOf(tokens, 20);
  const { on, index } = (CREATES_INDEX.exec(head) ?? REBUILDS_INDEX.exec(head))?.groups ?? {};
  if (on === undefined) return null;
  return { on: on.replaceAll(" . ", "."), index: index === undefined ? null : unquoted(index) };
}

export const makesNamelessIndex = ({ tokens }: SqlStatement) =>
  /^CREATE (UNIQUE )?INDEX (CONCURRENTLY )?ON /i.test(headOf(tokens, 5));

const unquoted = (name: string) =>
  name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase();
