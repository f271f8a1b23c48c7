import { expect, test } from 'vitest';
import { amrSeconds } from './amr.ts';

const recording = (head: string, type: number, size: number, frames: number) =>
  Buffer.concat([
    Buffer.from(head),
    ...Array.from({ length: frames }, () => Buffer.concat([Buffer.from([type << 3]), Buffer.alloc(size)])),
  ]);

test('a frame is 20 ms, whatever its type', () => {
  expect(amrSeconds(recording('#!AMR\n', 7, 31, 3_000))).toBe(60);
  expect(amrSeconds(recording('#!AMR\n', 8, 5, 3_001))).toBe(60.02);
  expect(amrSeconds(recording('#!AMR\n', 15, 0, 50))).toBe(1);
  expect(amrSeconds(recording('#!AMR-WB\n', 8, 60, 100))).toBe(2);
  expect(amrSeconds(Buffer.from('#!AMR\n'))).toBe(0);
});

test('what is no AMR of one channel has no length', () => {
  for (const text of ['', 'OggS', '#!AMR', '#!AMR_MC1.0\n']) expect(amrSeconds(Buffer.from(text))).toBeUndefined();
});
