/** A name as plain text in Markdown: who chose it must not choose how the answer looks. */
export function plainName(name: string): string {
  return name.replace(/[\\`*_[\]<>~|#]/g, '\\$&');
}
