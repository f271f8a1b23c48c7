import { expect } from 'vitest';
import { leastCpuMs } from './cpu-time.ts';

/** Far more than one pass takes, and far less than a pass from each of its places. */
const QUICK_MS = 300;
const CHARS = 60_000;

/** `work` reads a text of 60,000 characters, which is `piece` again and again, in one pass or a few. */
export function expectQuick(piece: string, work: (text: string) => unknown): void {
  const text = piece.repeat(CHARS / piece.length);
  expect(leastCpuMs(QUICK_MS, () => work(text))).toBeLessThan(QUICK_MS);
}
