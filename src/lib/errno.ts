/** Whether an error of the platform has one of these codes, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
