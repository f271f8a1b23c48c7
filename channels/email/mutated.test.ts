/** Mail is written by anybody: its header, its MIME tree and its HTML. */
import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { toInbound } from './in/inbound.ts';
import { parseHeaders, parseMail } from './in/mime.ts';

const OPTIONS = {
  channel: 'email',
  account: 'bot@example.test',
  trustFrom: false,
  authservId: 'mx.example.test',
  maxBodyChars: 10_000,
  maxFileBytes: 20_000_000,
};
const FACTS = { uidValidity: '7', uid: 42, receivedAt: 1_700_000_000_000, size: 1 };
const FOLDERS = ['accepted', 'refused'].map((name) => new URL(`./fixtures/${name}/`, import.meta.url));
/** The huge ones are about size; here they would be about nothing else. */
const SEEDS = FOLDERS.flatMap((folder) => readdirSync(folder).map((file) => readFileSync(new URL(file, folder)))).filter(
  ({ length }) => length < 8_000,
);
const PIECES = [
  ...[
    '\n',
    '\r\n',
    '\n\n',
    '\r',
    '\0',
    '\t',
    '"',
    '<',
    '>',
    ';',
    '=',
    '--',
    '--b',
    '&#',
    '<!--',
    '=?utf-8?b?',
    '?=',
    '\xff',
    '\u202e',
    '\ud83d',
  ],
  ...[
    'Content-Type: multipart/mixed; boundary=b\n',
    'Content-Transfer-Encoding: base64\n',
    'From: owner@example.test\n',
    'charset=utf-7',
  ],
];

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Whether the reader of MIME itself, a package, gives the mail up. */
async function isMime(raw: Uint8Array): Promise<boolean> {
  try {
    await parseHeaders(raw);
    await parseMail(raw);
    return true;
  } catch {
    return false;
  }
}

test("A45 A6 10,000 mutated mails: our reader gives up only what is no MIME, and no change makes a mail the owner's", async () => {
  const draw = generator(5);
  let accepted = 0;
  // Collected, because an assertion costs as much as reading a small mail does.
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    let raw = Buffer.from(SEEDS[round % SEEDS.length] ?? []);
    for (let change = draw(4); change >= 0; change -= 1) {
      const at = draw(raw.length + 1);
      const put = Buffer.from(PIECES[draw(PIECES.length)] ?? '');
      const kind = draw(4);
      if (kind === 0) raw = Buffer.concat([raw.subarray(0, at), put, raw.subarray(at)]);
      else if (kind === 1) raw = Buffer.concat([raw.subarray(0, at), raw.subarray(at + draw(40))]);
      else if (kind === 2) raw = Buffer.concat([raw.subarray(0, at), put, raw.subarray(at + put.length)]);
      else if (at < raw.length) raw[at] = draw(256);
    }
    const message = await toInbound(raw, FACTS, OPTIONS);
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(message)), message)) wrong.push(`${round}: is no JSON`);
    if (message.refusal === 'unreadable' && (await isMime(raw)))
      throw new Error(`read as MIME, and not by us:\n${raw.toString('latin1')}`);
    if (message.refusal === undefined) accepted += 1;
    else if (message.text !== '') wrong.push(`${round}: refused with its text ${message.text}`);
    // Nothing authenticates this address in any seed, and a line that claims it does not.
    if (message.refusal === undefined && message.senderId === 'owner@example.test') wrong.push(`${round}: is the owner's`);
  }
  expect(wrong).toEqual([]);
  expect(accepted).toBeGreaterThan(500);
});
