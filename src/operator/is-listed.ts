import type { Account } from "../platform/account.ts";

/**
 * Whether `OPERATOR_ACCOUNTS` lists an account, by its id, or by its e-mail if the platform has verified that. An entry without "@" is compared with ids
 * alone, because what the platform calls an e-mail need not look like one. Only ASCII letters are compared without
 * case: in Unicode, the lower case of the kelvin sign is an ordinary "k", so another person's e-mail could match.
 */
export function isListed(
  accounts: readonly string[],
  { id, email, isEmailVerified }: Pick<Account, "id" | "email" | "isEmailVerified">,
): boolean {
  return accounts.some((account) => {
    const isEmail = account.includes("@");
    return inSmallLetters(account) === inSmallLetters(isEmail ? email : id) && (isEmailVerified || !isEmail);
  });
}

function inSmallLetters(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
