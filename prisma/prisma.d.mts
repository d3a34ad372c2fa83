export function schemas(): { file: string; client: string }[];
export function prisma(...words: string[]): string | null;
export const version: string;
