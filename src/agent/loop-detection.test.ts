import { describe, expect, test } from 'vitest';
import { LoopDetector } from './loop-detection.ts';
import { argsHash, toolSignature } from './tool-signature.ts';

/** The calls (1-based) at which a sequence of one call per answer is detected. */
function detections(sequence: string): number[] {
  const detector = new LoopDetector();
  return [...sequence].flatMap((signature, i) => (detector.observe([signature]) ? [i + 1] : []));
}

describe('F32 loop detection', () => {
  test.each([
    ['aaa', []], // three calls are too few to judge
    ['aaaa', [4]],
    ['baaa', [4]],
    ['ababab', [6]],
    ['abcabcabc', [9]],
    ['abcabcab', []],
    ['abcdabcdabcd', []], // a cycle of four
    ['aabbccddaabbccdd', []],
    ['aaaab', [4]],
    ['aaaaa', [4, 5]],
    ['xyzxyzababab', [12]],
  ])('%s is detected at %j', (sequence, expected) => {
    expect(detections(sequence)).toEqual(expected);
  });

  test('the calls of one answer count one by one but are one detection', () => {
    expect(new LoopDetector().observe(['a', 'a', 'a', 'a', 'a'])).toBe(true);
  });
});

describe('the signature of a call', () => {
  const of = (args: string) => toolSignature({ name: 'f', arguments: args });

  test('ignores blanks and key order at every depth, not the order of lists', () => {
    expect(of('{"a":{"x":1,"y":[1,2]},"b":2}')).toBe(of('{ "b": 2, "a": { "y": [1, 2], "x": 1 } }'));
    expect(of('[1,2]')).not.toBe(of('[2,1]'));
    expect(of('{"a":1}')).not.toBe(toolSignature({ name: 'g', arguments: '{"a":1}' }));
  });

  test('takes what is not JSON, and what is nested beyond reason, as text', () => {
    expect(of('{"cut')).toBe('f\n{"cut');
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(argsHash({ name: 'f', arguments: deep })).toMatch(/^[0-9a-f]{32}$/);
  });
});
