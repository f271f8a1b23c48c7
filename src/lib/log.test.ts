import { spawnSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { createLogger, type LevelLogger, type LogLevel } from './log.ts';

function capture(options: { level?: LogLevel; pretty?: boolean; secrets?: string[]; inRounds?: boolean } = {}): {
  logger: LevelLogger;
  text: () => string;
} {
  const { level = 'info', pretty = false, secrets = [], inRounds = false } = options;
  const destination = new PassThrough();
  const chunks: string[] = [];
  destination.on('data', (chunk: Buffer) => chunks.push(String(chunk)));
  const now = () => Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  return {
    logger: createLogger({ level, destination, pretty, secrets: () => secrets, now, inRounds }),
    text: () => chunks.join(''),
  };
}

function parse(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a line is one JSON object with time, level, event and the fields of its parents', () => {
  const { logger, text } = capture();
  logger.child({ channel: 'telegram' }).child({ session: 's' }).warn('channel.state', { state: 'down', tries: 3 });
  expect(parse(text())).toEqual([
    {
      level: 'warn',
      time: '2026-01-02T03:04:05.678Z',
      event: 'channel.state',
      channel: 'telegram',
      session: 's',
      state: 'down',
      tries: 3,
    },
  ]);
});

test('another level holds at once, for the children there are too', () => {
  const { logger, text } = capture();
  const child = logger.child({ channel: 'telegram' });
  child.debug('before');
  logger.setLevel('debug');
  child.debug('with it', { error: new Error('x') });
  logger.setLevel('error');
  child.warn('after');
  expect(parse(text())).toMatchObject([{ event: 'with it', error: expect.stringContaining('log.test.ts') }]);
});

test('lines below the level are not written', () => {
  const { logger, text } = capture({ level: 'warn' });
  logger.info('quiet');
  logger.debug('quiet');
  logger.error('loud');
  expect(parse(text()).map((line) => line['event'])).toEqual(['loud']);
});

test('data cannot replace time, level or event', () => {
  const { logger, text } = capture();
  logger.info('real', { event: 'forged', level: 'fatal', time: 'never' });
  const [line] = parse(text());
  expect(line).toMatchObject({ event: 'real', level: 'info', _event: 'forged', _level: 'fatal', _time: 'never' });
  expect(text().match(/"event":/g)).toHaveLength(1);
});

test('in rounds: lines leave in one write after the work of the round, and a warning leaves at once with all before it', async () => {
  const { logger, text } = capture({ inRounds: true });
  logger.info('one');
  expect(text()).toBe('');
  await setImmediate();
  expect(parse(text()).map(({ event }) => event)).toEqual(['one']);
  logger.info('two');
  logger.child({ a: 1 }).warn('three');
  expect(parse(text()).map(({ event }) => event)).toEqual(['one', 'two', 'three']);
});

test('in rounds: what waits is written when the process ends', async () => {
  const script = `import { createLogger } from ${JSON.stringify(import.meta.resolve('./log.ts'))};
    createLogger({ level: 'info', destination: process.stderr, pretty: false, secrets: () => [], inRounds: true }).info('last');
    process.exit(3);`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect([ended.status, parse(ended.stderr).map(({ event }) => event)]).toEqual([3, ['last']]);
});

test('errors, bytes, cycles and huge texts are logged in bounded form', () => {
  const { logger, text } = capture();
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const error = new GatehouseError('GH1301', 'the disk is full', { cause: new Error('ENOSPC') });
  logger.info('odd', { error, bytes: new Uint8Array(7), cycle, long: 'x'.repeat(100_000), big: 10n, many: Array(1000).fill(1) });
  const [line] = parse(text());
  expect(line).toMatchObject({ error: 'GH1301: the disk is full (ENOSPC)', bytes: '[7 bytes]', big: '10' });
  expect(text().length).toBeLessThan(6_000);
});

describe('A29 a registered secret never appears', () => {
  // Awkward on purpose: base64 with + and /, characters that percent- and JSON-encoding change, a multi-line
  // key, a common prefix.
  const canaries = [
    'canary-1/with?signs&more=%',
    'c4n@ry "quoted" \\ two',
    '-----BEGIN-----\nline\n-----END',
    'öäü-canary-ÿ>>>???',
    'tok:en',
    'tok:en-longer',
  ];
  const forms: Record<string, (secret: string) => string> = {
    plain: (secret) => secret,
    'inside a text': (secret) => `before ${secret} after`,
    base64: (secret) => Buffer.from(secret).toString('base64'),
    base64url: (secret) => Buffer.from(secret).toString('base64url'),
    'basic auth': (secret) => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
    'base64 at offset 2': (secret) => Buffer.from(`xy${secret}tail`).toString('base64'),
    'percent-encoded': (secret) => encodeURIComponent(secret),
    'percent-encoded in lower case': (secret) => encodeURIComponent(secret).replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    'form-encoded': (secret) => new URLSearchParams({ q: secret }).toString(),
    hex: (secret) => Buffer.from(secret).toString('hex'),
    JSON: (secret) => JSON.stringify({ nested: secret }),
  };

  /** What of a secret is in a text, decoded by every means: base64 of any piece included. */
  function leaks(text: string, secret: string): boolean {
    const pieces = [
      text,
      ...[...text.matchAll(/[A-Za-z0-9+/_-]{8,}={0,2}/g)].flatMap(([piece]) => [0, 1, 2, 3].map((skip) => piece.slice(skip))),
    ];
    const decoded = pieces.flatMap((piece) => [
      piece,
      Buffer.from(piece, 'base64').toString(),
      Buffer.from(piece, 'hex').toString(),
    ]);
    const loose = decoded.flatMap((piece) => [
      piece,
      piece.replaceAll('\\n', '\n').replaceAll('\\"', '"').replaceAll('\\\\', '\\'),
    ]);
    return loose.some((piece) => piece.includes(secret));
  }

  test.each(Object.entries(forms))('as %s, in a field, an event, a key, an error or a child', (_name, form) => {
    for (const pretty of [false, true]) {
      for (const secret of canaries) {
        const { logger, text } = capture({ secrets: canaries, level: 'debug', pretty });
        const value = form(secret);
        logger
          .child({ note: value })
          .info(value, { deep: [{ value }], [value]: 1, error: new Error(value, { cause: new Error(value) }) });
        expect(leaks(text(), secret), `${pretty} ${value} ${text()}`).toBe(false);
        expect(text()).toContain('[secret]');
      }
    }
  });

  test('a secret learnt after the logger was made is removed too', () => {
    const secrets = ['first-secret'];
    const { logger, text } = capture({ secrets });
    secrets.push('second-secret');
    logger.info('late', { a: 'first-secret', b: 'second-secret' });
    expect(parse(text())[0]).toMatchObject({ a: '[secret]', b: '[secret]' });
  });

  test('values under the name of a secret are removed though nobody registered them', () => {
    const { logger, text } = capture();
    const headers = { Authorization: 'Bearer abc', 'x-api-key': 'k' };
    logger.info('call', { headers, bot_token: 't', smtpPassword: 'p', apiKey: 'k', tokensIn: 5, hasPassword: true });
    expect(parse(text())[0]).toMatchObject({
      headers: { Authorization: '[secret]', 'x-api-key': '[secret]' },
      bot_token: '[secret]',
      smtpPassword: '[secret]',
      apiKey: '[secret]',
      tokensIn: 5,
      hasPassword: true,
    });
  });
});

describe('A46 foreign text can neither forge a line nor drive a terminal', () => {
  const hostile = [
    'Eve\n{"level":"error","event":"forged"}',
    'Eve\r12:00:00.000 ERROR forged',
    '\u001b[2J\u001b[1;1Hgone',
    '\u001b]0;title\u0007',
    '\u009b31mred',
    'abc\u202egnp.exe',
    'two\u2028lines',
    'bell\u0007\u0000\u007f',
    'lone \ud800 surrogate',
    'a" level=ERROR event="forged',
  ];

  test.each([false, true])('pretty: %s', (pretty) => {
    for (const text of hostile) {
      const captured = capture({ pretty });
      captured.logger.info(`event ${text}`, { sender: text, [text]: text, list: [text] });
      const output = captured.text();
      expect(output.endsWith('\n')).toBe(true);
      const line = output.slice(0, -1);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
      expect(line.isWellFormed()).toBe(true);
      if (!pretty) expect(JSON.parse(line)).toMatchObject({ level: 'info' });
    }
  });

  test('a value with a space, a quote or an equals sign stays one field of a human line', () => {
    const { logger, text } = capture({ pretty: true });
    logger.info('admitted', { sender: 'a" level=ERROR event="forged', plain: 'x' });
    expect(text()).toBe(`03:04:05.678 INFO  admitted             sender="a' level=ERROR event='forged" plain=x\n`);
  });

  test('ordinary text in any script and emoji pass unchanged', () => {
    const { logger, text } = capture();
    const name = '山田 Ægir العربية 👩‍👩‍👧 é';
    logger.info('admitted', { name });
    expect(parse(text())[0]?.['name']).toBe(name);
  });
});
