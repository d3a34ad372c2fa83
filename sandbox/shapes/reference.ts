/** How one object names another: `{id, name}`. */
export function reference({ id, name }: { id: string; name: string }) {
  return { id, name };
}
