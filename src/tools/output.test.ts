import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMs } from '../testing/cpu-time.ts';
import { sanitize, shapeOutput } from './output.ts';

describe('shapeOutput', () => {
  test('text within the limit is left as it is', () => {
    expect(shapeOutput('é'.repeat(50), 100)).toBe('é'.repeat(50));
    expect(shapeOutput('', 0)).toBe('');
  });

  test('longer text keeps 70 % head and 30 % tail around the number of omitted bytes', () => {
    const text = 'h'.repeat(5000) + 't'.repeat(5000);
    const shaped = shapeOutput(text, 1000);
    const [, head = '', omitted = '', tail = ''] = /^(h+)\n\n\[\.\.\. (\d+) bytes omitted \.\.\.\]\n\n(t+)$/.exec(shaped) ?? [];
    expect(Number(omitted)).toBe(10_000 - head.length - tail.length);
    expect(head.length / (head.length + tail.length)).toBeCloseTo(0.7, 2);
    expect(Buffer.byteLength(shaped)).toBeLessThanOrEqual(1000);
  });

  test('whatever the characters, none is cut in two, and head, tail and omission add up', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 40, maxLength: 300 }),
        fc.integer({ min: 60, max: 200 }),
        (raw, limit) => {
          // The mark of a broken character must not come from the input.
          const text = raw.toWellFormed().replaceAll('\ufffd', 'x');
          const shaped = shapeOutput(text, limit);
          expect(shaped).not.toContain('\ufffd');
          if (shaped === text) return;
          const match = /^([\s\S]*)\n\n\[\.\.\. (\d+) bytes omitted \.\.\.\]\n\n([\s\S]*)$/.exec(shaped);
          const [, head = '', omitted = '', tail = ''] = match ?? [];
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + Number(omitted)).toBe(Buffer.byteLength(text));
          expect(Buffer.byteLength(shaped)).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });
});

const KEY = 'Ab3-'.repeat(6);
const MARK = '[credential-redacted]';

describe('sanitize (spec G6)', () => {
  test.each([
    ['a data URI', `<img src="data:image/png;base64,${'iVBO'.repeat(16)}==">`, '<img src="[base64-data-redacted]">'],
    ['a data URI with a parameter', `data:text/plain;charset=utf-8;base64,${'QUJD'.repeat(20)}`, '[base64-data-redacted]'],
    ['a data URI without a type', `x data:;base64,${'QUJD'.repeat(20)} y`, 'x [base64-data-redacted] y'],
    ['64 hex digits', `sha ${'0aF9'.repeat(16)}.`, 'sha [hex-redacted].'],
    ['an Anthropic key', `key sk-ant-api03-${KEY}!`, `key sk-a${MARK}!`],
    ['an OpenAI key', `sk-proj-${KEY}`, `sk-p${MARK}`],
    ['an AWS key id', `AKIA${'Z7'.repeat(8)}`, `AKIA${MARK}`],
    ['GitHub tokens', `ghp_${'a1'.repeat(18)} gho_${'a1'.repeat(18)}`, `ghp_${MARK} gho_${MARK}`],
    ['more GitHub tokens', `ghs_${'a1'.repeat(18)} ghr_${'a1'.repeat(18)}`, `ghs_${MARK} ghr_${MARK}`],
    ['a fine-grained GitHub token', `github_pat_${'a1_'.repeat(18)}`, `gith${MARK}`],
    ['a GitLab token', `glpat-${KEY}`, `glpa${MARK}`],
    ['a bearer header', `Authorization: Bearer ${'eyJ0.'.repeat(8)}`, `Authorization: Bear${MARK}`],
    ['an assignment', 'DB_PASSWORD=hunter2hunter2\nnext', `DB_PASS${MARK}\nnext`],
    ['a JSON member', '{"api_key": "12345678 with blanks", "b": 1}', `{"api_${MARK}, "b": 1}`],
    ['a JSON member in a text of JSON', String.raw`{\"secret\": \"12345678\", \"b\": 1}`, String.raw`{\"secr${MARK}, \"b\": 1}`],
    ['a YAML member', "client_secret: 'aaaaaaaa'", `client_secr${MARK}`],
    ['an assignment cut off before its quote', 'private_key="-----BEGIN KEY', `priv${MARK}`],
    ['each name', 'apikey=12345678 access_token=12345678 auth_token:12345678', `apik${MARK} acce${MARK} auth${MARK}`],
  ])('%s is taken out', (_, dirty, clean) => {
    expect(sanitize(dirty)).toBe(clean);
    expect(sanitize(clean)).toBe(clean);
  });

  test.each([
    ['short base64', `data:image/png;base64,${'a'.repeat(63)}`],
    ['63 hex digits', 'a'.repeat(63)],
    ['a short assignment', 'password=1234567'],
    ['a sentence about secrets', 'The secret is out, and the password policy says so.'],
    ['a hyphenated word', 'task-force-management-system-of-the-town'],
    ['a UUID', '123e4567-e89b-12d3-a456-426614174000'],
  ])('%s stays', (_, text) => {
    expect(sanitize(text)).toBe(text);
  });

  test('the order is data URI, hex, credentials: a key inside a longer wrapper is not half shown', () => {
    const hex = 'ab'.repeat(40);
    expect(sanitize(`data:a/b;base64,${hex}`)).toBe('[base64-data-redacted]');
    expect(sanitize(`password=${hex}`)).toBe(`pass${MARK}`);
    expect(sanitize(`Bearer ${'x'.repeat(8)}sk-ant-${KEY}`)).not.toContain(KEY);
  });

  test('A45 a megabyte made to make the patterns backtrack takes well under a second', () => {
    const size = 1_000_000;
    const parts = [
      'data:',
      'data:a/b;a=b',
      ';a=',
      'secret=',
      'secret="',
      'secret\\',
      'secret=\\',
      "password: '",
      'secret ',
      'Bearer ',
      'sk-',
      'a.',
      '\t',
      'data:a/',
    ];
    for (const part of parts) {
      for (const text of [part.repeat(size / part.length), part + 'a'.repeat(size), part + ' '.repeat(size)]) {
        const start = cpuMs();
        sanitize(text);
        expect(cpuMs() - start, part).toBeLessThan(900);
      }
    }
  });
});
