/** How long an Ogg Opus file plays: the platform demands the figure of whoever sends a voice message. */

/** Opus counts in these, whatever it was recorded with (RFC 7845, 4). */
const SAMPLES_PER_SECOND = 48_000;
const PAGE = Buffer.from('OggS');
const HEAD = Buffer.from('OpusHead');
/** A page with its header is no longer than this (RFC 3533, 6), so the last one begins within it. */
const LONGEST_PAGE = 65_307;

/** Undefined for anything that is not Ogg Opus. */
export function opusSeconds(bytes: Buffer): number | undefined {
  if (!bytes.subarray(0, 4).equals(PAGE)) return undefined;
  const head = bytes.subarray(0, 512).indexOf(HEAD);
  if (head < 0 || head + 12 > bytes.length) return undefined;
  const preSkip = bytes.readUInt16LE(head + 10);
  for (let at = bytes.lastIndexOf(PAGE); at >= Math.max(0, bytes.length - LONGEST_PAGE); at = bytes.lastIndexOf(PAGE, at - 1)) {
    if (at + 14 > bytes.length) continue;
    // -1: no packet ends on this page.
    const granule = bytes.readBigInt64LE(at + 6);
    const samples = Number(granule) - preSkip;
    if (granule >= 0n && samples > 0) return Math.round((samples / SAMPLES_PER_SECOND) * 1_000) / 1_000;
    if (at === 0) break;
  }
  return undefined;
}
