/** What one check found. A finding that is `ok` and has a `fix` is a warning. */
export interface Finding {
  ok: boolean;
  message: string;
  /** What to do, as a sentence; null if there is nothing to do. */
  fix: string | null;
}

export interface Check extends Finding {
  id: string;
  /** False if the check could not be made; it is then neither `ok` nor a fault. */
  isChecked?: boolean;
}

export const fine = (message: string): Finding => ({ ok: true, message, fix: null });
export const warning = (message: string, fix: string): Finding => ({ ok: true, message, fix });
export const fault = (message: string, fix: string | null): Finding => ({ ok: false, message, fix });
