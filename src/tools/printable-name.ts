/** A name may hold a newline; shown as it is, it would fake another entry of a list. */
export function printableName(name: string): string {
  return [...name].some((char) => char < ' ' || char === '\u007f') ? JSON.stringify(name) : name;
}
