/** How long a recording in AMR is: RFC 4867 5.3, the storage format. Pure. */

/**
 * Bytes of a frame behind its first one, by the type in that one; of the types that are not listed there is
 * nothing.
 */
const NARROW = [12, 13, 15, 17, 19, 20, 26, 31, 5];
const WIDE = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5];
const FRAMES_A_SECOND = 50;

/** Undefined for anything but one channel of AMR. */
export function amrSeconds(bytes: Uint8Array): number | undefined {
  const head = Buffer.from(bytes.subarray(0, 9)).toString('latin1');
  const [sizes, start] = head.startsWith('#!AMR\n') ? [NARROW, 6] : head === '#!AMR-WB\n' ? [WIDE, 9] : [];
  if (!sizes || start === undefined) return undefined;
  let frames = 0;
  for (let at = start; at < bytes.length; frames += 1) at += 1 + (sizes[((bytes[at] ?? 0) >> 3) & 15] ?? 0);
  return frames / FRAMES_A_SECOND;
}
