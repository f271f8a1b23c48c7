// Every command line in the blocks of README and docs, run in a fresh HOME beside a daemon.
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';
import { packageRoot } from '../lib/package-info.ts';
import { type CommandLine, commandLines } from '../testing/documented.ts';
import { until } from '../testing/fakes.ts';
import { callPieces, messagesOf, type ReceivedRequest, stream, userText } from '../testing/model-server.ts';
import { makePlugin } from '../testing/plugin.ts';
import { type TelegramScene, telegramScene } from '../testing/telegram/scene.ts';

/** What is played elsewhere, and by whom. */
const NOT_RUN: readonly (readonly [line: RegExp, why: string])[] = [
  [/^gatehouse (init|gateway)\b/, 'asks on a terminal, or runs until it is stopped: setup.e2e, first-run.e2e'],
  [/^gatehouse (channels|tools) add\b|^gatehouse models add-provider\b/, 'needs the network: scripts/package/check.ts'],
  [/^gatehouse service (install|uninstall|status)(?! --dry-run)/, 'needs systemd: service.test.ts'],
];

/** A person who says yes sits before these. */
const ASKS = /^gatehouse plugins add\b/;

/** In each page a code that stands for one that its reader was given. */
const PAIRING = '7GQ2MX4K';
const QUESTION = '7GQ2MX';
const CHAT = 4711;

interface Told extends TelegramScene {
  readonly chats: { next: number };
  /** Code of a question that is open: the next message of its chat would answer it. */
  open: string | undefined;
}

/** The person at 4711 has the bot ask them something. */
function script(request: ReceivedRequest) {
  const isAnswered = messagesOf(request).at(-1)?.role === 'tool';
  if (!userText(request).includes('ask me') || isAnswered) return undefined;
  return stream(callPieces({ name: 'ask_human', arguments: { question: 'Shall I go on?' } }));
}

async function sentTo(at: TelegramScene, chat: number, pattern: RegExp): Promise<string> {
  return await until(`chat ${chat} is told`, () => {
    const found = at.texts(chat).findLast((text) => pattern.test(text));
    return found === undefined ? undefined : pattern.exec(found)?.[1];
  });
}

/** A stranger writes, and is given a code. */
async function pairingCode(at: Told, id = at.chats.next++): Promise<string> {
  at.platform.inject({ text: 'hello', chat_id: id, from: { id, first_name: 'Ada' } });
  return await sentTo(at, id, /\b([A-Z0-9]{8})\b/);
}

async function questionCode(at: Told, isEnded: boolean): Promise<string> {
  const before = at.texts(CHAT).length;
  if (at.open === undefined) at.platform.inject({ text: 'ask me', chat_id: CHAT, from: { id: CHAT } });
  const code =
    at.open ??
    (await until('the question is asked', () => {
      const codes = at
        .texts(CHAT)
        .slice(before)
        .map((text) => /\/answer ([A-Z0-9]{6})/.exec(text)?.[1]);
      return codes.find((one) => one !== undefined);
    }));
  at.open = isEnded ? undefined : code;
  return code;
}

/** What stands for something of the reader's becomes what this HOME has. */
async function filledIn(at: Told, words: readonly string[]): Promise<readonly string[]> {
  const year = String(new Date().getFullYear() + 1);
  if (words.includes('--sender')) await pairingCode(at, 42);
  const filled: string[] = [];
  for (const word of words) {
    if (word === PAIRING) filled.push(await pairingCode(at));
    else if (word === QUESTION) filled.push(await questionCode(at, !words.includes('show')));
    else filled.push(word.replace(/^20\d\d(?=-\d\d-\d\dT)/, year));
  }
  return filled;
}

async function run(at: Told, { text, words, input }: CommandLine): Promise<{ readonly code: number; readonly said: string }> {
  let said = '';
  const heard = (): PassThrough =>
    new PassThrough().on('data', (chunk) => {
      said += String(chunk);
    });
  const stdin = ASKS.test(text)
    ? Object.assign(Readable.from(['y\n']), { isTTY: true })
    : Readable.from(input === undefined ? [] : [await readFile(join(at.dir, input))]);
  const code = await runCli(await filledIn(at, words), {
    ...processDeps(),
    stdio: { stdin, stdout: heard(), stderr: heard() },
    env: {
      PATH: process.env['PATH'],
      HOME: at.dir,
      GATEHOUSE_HOME: join(at.dir, 'data'),
      TEST_KEY: 'sk-test',
      TELEGRAM_BOT_TOKEN: at.platform.token,
    },
    ...{ cwd: at.dir, home: at.dir },
  });
  return { code, said };
}

test('every command in a block of README and docs does what it says, in the order of its page', async () => {
  await using scene = await telegramScene({
    script,
    entry: { allowed_senders: [String(CHAT)] },
    config: { tool_policy: { mode: 'guarded', members: ['ask_human'], guests: ['ask_human'] } },
  });
  const at: Told = { ...scene, chats: { next: 100 }, open: undefined };
  await mkdir(join(at.dir, '.config/gatehouse'), { recursive: true });
  await writeFile(join(at.dir, '.config/gatehouse/config.json'), JSON.stringify(at.config));
  for (const name of ['new-key.txt', 'new-token.txt']) await writeFile(join(at.dir, name), 'sk-new-secret-0123456789\n');
  await makePlugin(at.dir, { name: 'greet', script: '#!/bin/sh\necho \'{"output":"hi"}\'\n' });
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ text: 'the invoice of march', chat_id: CHAT, from: { id: CHAT } });
  await sentTo(at, CHAT, /(echo: the invoice)/);
  const failed: string[] = [];
  let count = 0;
  for (const line of commandLines(packageRoot())) {
    if (NOT_RUN.some(([pattern]) => pattern.test(line.text))) continue;
    count += 1;
    const { code, said } = await run(at, line);
    if (code !== 0) failed.push(`${line.page}: ${line.text}: ended with ${code}: ${said}`);
  }
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(30);
});

test('what is not run is there, and says why', () => {
  const lines = commandLines(packageRoot());
  for (const [pattern] of NOT_RUN) expect(lines.filter(({ text }) => pattern.test(text))).not.toEqual([]);
  expect(readFileSync(join(packageRoot(), 'README.md'), 'utf8')).toContain('npm ci && npm start');
});
