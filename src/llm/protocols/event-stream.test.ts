import { describe, expect, test } from 'vitest';
import { readEvents } from './event-stream.ts';
import { AnsweredError } from './http-failure.ts';
import { WireFault } from './wire-guard.ts';

/** `left`: the body was left before its end. */
interface Read {
  readonly batches: unknown[][];
  readonly error: unknown;
  readonly signs: number;
  readonly left: boolean;
}

async function read(...pieces: readonly (string | Uint8Array)[]): Promise<Read> {
  let left = true;
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece;
    left = false;
  }
  const batches: unknown[][] = [];
  let signs = 0;
  const onBytes = (): void => {
    signs += 1;
  };
  try {
    for await (const batch of readEvents(body(), onBytes)) batches.push([...batch]);
  } catch (error) {
    return { batches, error, signs, left };
  }
  return { batches, error: undefined, signs, left };
}

const payloads = async (...pieces: readonly (string | Uint8Array)[]): Promise<unknown[]> => {
  const { batches, error } = await read(...pieces);
  expect(error).toBeUndefined();
  return batches.flat();
};

const EXPECTED = [{ n: 1, text: '漢字かな' }, { n: 2, text: '👋🏽 é' }, { n: 3 }, [4], 'five', null];
const SAMPLE = [
  ': a comment',
  '',
  'id: 7',
  'event: message',
  'data: {"n":1,"text":"漢字かな"}',
  '',
  'retry: 100',
  // Without a blank behind the colon, and over several lines.
  'data:{"n":2,',
  'data:"text":"👋🏽 é"',
  'data:}',
  '',
  '',
  'unknown: field',
  'data',
  '',
  'data: {"n":3}',
  '',
  'data: [4]',
  '',
  'data: "five"',
  '',
  'data: null',
  '',
  '',
];

describe('payloads', () => {
  test.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('F28 are the same with %s line ends, a byte order mark or a NUL, wherever the bytes are cut', async (_name, lineEnd) => {
    const plain = SAMPLE.join(lineEnd);
    for (const text of [plain, `\uFEFF${plain}`, `: \0${lineEnd}${lineEnd}id: \0${lineEnd}${plain}`]) {
      const bytes = Buffer.from(text);
      expect(await payloads(bytes)).toEqual(EXPECTED);
      for (let at = 1; at < bytes.length; at += 1)
        expect({ at, read: await payloads(bytes.subarray(0, at), bytes.subarray(at)) }).toEqual({ at, read: EXPECTED });
      expect(await payloads(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(EXPECTED);
    }
  });

  test('of one piece of bytes come together, and each piece is a sign of life', async () => {
    const { batches, signs } = await read('data: 1\n\ndata: 2\n\nda', 'ta: 3\n\n', ': still here\n\n', 'data: 4\n\n');
    expect(batches).toEqual([[1, 2], [3], [4]]);
    expect(signs).toBe(4);
  });

  test('F28 include the last one, which may lack its blank line or its line end', async () => {
    for (const end of ['', '\n', '\r', '\r\n', '\r\n\r\n']) expect(await payloads(`data: 1\n\ndata: 2${end}`)).toEqual([1, 2]);
  });

  test('are none where there is no body, and none of events without data', async () => {
    for await (const batch of readEvents(null, () => undefined)) throw new Error(`there is ${JSON.stringify(batch)}`);
    expect(await payloads('event: ping\n\ndata:\n\ndata: 1\n\n')).toEqual([1]);
  });

  test('are none of pings, whatever those say', async () => {
    expect(await payloads('event: ping\ndata: pong\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: 1\n\n')).toEqual([1]);
  });
});

describe('the end mark', () => {
  test('ends the stream: what stands behind it is neither read nor waited for', async () => {
    const { batches, error, left } = await read('data: 1\n\ndata: [DONE]\n\ndata: 2\n\ndata: {', 'data: 3\n\n', 'data: 4\n\n');
    expect({ batches, error, left }).toEqual({ batches: [[1]], error: undefined, left: true });
  });

  test('may lack its blank line, and lets the end of the body behind it be seen', async () => {
    expect(await read('data: 1\n\ndata: [DONE]')).toMatchObject({ batches: [[1]], left: false });
    expect(await read('data: 1\n\n', 'data: [DONE]\n\n')).toMatchObject({ batches: [[1]], left: false });
  });

  test('waits for no server that keeps the line open', async () => {
    let left = false;
    const pieces = [Buffer.from('data: 1\n\ndata: [DONE]\n\n')];
    const body = {
      [Symbol.asyncIterator]: () => body,
      next: () => {
        const value = pieces.shift();
        return value ? Promise.resolve({ done: false as const, value }) : new Promise<never>(() => undefined);
      },
      return: () => {
        left = true;
        return Promise.resolve({ done: true as const, value: undefined });
      },
    };
    const read: unknown[] = [];
    for await (const batch of readEvents(body, () => undefined)) read.push(...batch);
    expect({ read, left }).toEqual({ read: [1], left: true });
  });
});

describe('failures', () => {
  test.each([
    ['an error object', 'data: {"error":{"message":"busy"}}', { message: 'busy' }],
    ['an error that is a word', 'data: {"error":"busy"}', 'busy'],
    ['an event of that name', 'event: error\ndata: {"message":"busy"}', { message: 'busy' }],
    ['both', 'event: error\ndata: {"type":"error","error":{"message":"busy"}}', { message: 'busy' }],
    ['an event of that name in plain words', 'event: error\ndata: Overloaded', 'Overloaded'],
    ['an event of that name with a web page', 'event: error\ndata: <h1>502 Bad Gateway</h1>', '<h1>502 Bad Gateway</h1>'],
  ])('%s of the server comes behind the payloads before it', async (_name, event, said) => {
    const { batches, error, left } = await read(`data: 1\n\n${event}\n\ndata: 2\n\n`, 'data: 3\n\n');
    expect(batches).toEqual([[1]]);
    expect(error).toBeInstanceOf(AnsweredError);
    expect(error).toMatchObject({ status: undefined, error: said });
    expect(left).toBe(true);
  });

  test('an error that is no event is found at the end of the body, in one line or several, however it is cut', async () => {
    const plain = { error: { code: 503, message: 'busy' } };
    for (const text of [
      JSON.stringify(plain),
      JSON.stringify(plain, null, 2),
      JSON.stringify(plain, null, 2).replaceAll('\n', '\r\n'),
    ]) {
      const bytes = Buffer.from(`data: 1\r\n\r\n${text}\n`);
      for (let at = 1; at < bytes.length; at += 1) {
        const { batches, error, left } = await read(bytes.subarray(0, at), bytes.subarray(at));
        expect({ at, batches, left }).toEqual({ at, batches: [[1]], left: false });
        expect(error).toMatchObject({ status: undefined, error: plain.error });
      }
      expect(await read(text)).toMatchObject({ batches: [], error: { error: plain.error } });
    }
  });

  test('an error in a field of its own is found behind the end mark', async () => {
    const { batches, error } = await read('data: 1\n\n', 'error: {"code":400,"message":"too long"}\n\ndata: [DONE]\n\n');
    expect({ batches, error }).toEqual({ batches: [[1]], error: expect.any(AnsweredError) });
    expect(error).toMatchObject({ error: { code: 400, message: 'too long' } });
  });

  test('lines that are no event and no error are ignored', async () => {
    for (const stray of [
      '{"a":1}',
      '{',
      'error: {busy}',
      ': \u2028error: {"message":"busy"}',
      '{"error":null}',
      `{"error":"${'x'.repeat(200_000)}"}`,
      '[1]',
      'error',
    ])
      expect(await payloads(`data: 1\n\n${stray}\n\ndata: 2\n\n`)).toEqual([1, 2]);
  });

  test('an empty error is none', async () => {
    expect(await payloads('data: {"error":null}\n\n', 'data: {"error":""}\n\n')).toEqual([{ error: null }, { error: '' }]);
  });

  test('F28 what is not JSON is a SyntaxError behind the payloads before it, and a NUL in JSON is none', async () => {
    for (const broken of ['{"a":', 'hello', '"a\0b"', '[DONE] ']) {
      const { batches, error } = await read(`data: 1\n\ndata: ${broken}\n\ndata: 2\n\n`);
      expect({ batches, error }).toEqual({ batches: [[1]], error: expect.any(SyntaxError) });
    }
  });

  test('F28 a line past 1 MB and a body past 32 MB end the reading, and the body is left', async () => {
    const line = await read('data: 1\n\n', 'data: "', ...Array.from({ length: 20 }, () => 'x'.repeat(100_000)));
    expect(line).toMatchObject({ batches: [[1]], error: expect.any(WireFault), left: true });
    const event = Buffer.from(`data: "${'x'.repeat(900_000)}"\n\n`);
    const body = await read(...Array.from({ length: 40 }, () => event));
    expect(body).toMatchObject({ error: expect.any(WireFault), left: true });
    expect(body.batches).toHaveLength(35);
  });

  test('a consumer that leaves early leaves the body', async () => {
    let left = false;
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.from('data: 1\n\n');
      } finally {
        left = true;
      }
    }
    for await (const _ of readEvents(body(), () => undefined)) break;
    expect(left).toBe(true);
  });
});
