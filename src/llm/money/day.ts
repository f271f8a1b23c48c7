/** The last midnight at or before `at` (epoch ms) in the time zone of the process. */
export function startOfLocalDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}
