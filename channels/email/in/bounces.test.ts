import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/testing/fakes.ts';
import { ownMessageId } from '../wire/thread.ts';
import { Bounces, bouncedId } from './bounces.ts';

const OURS = ownMessageId({ key: 'k' }, 'bot@example.test');
const report = (action: string, id = OURS, type = 'delivery-status') =>
  Buffer.from(
    [
      'From: MAILER-DAEMON@mx.example.test',
      `Content-Type: multipart/report;\n report-type=${type}; boundary=b`,
      ...['', '--b', '', 'could not be delivered', '--b', 'Content-Type: message/delivery-status', ''],
      ...[`Final-Recipient: rfc822; ada@example.test`, `Action: ${action}`, 'Status: 5.1.1', ''],
      ...['--b', 'Content-Type: text/rfc822-headers', '', `Message-ID: ${id}`, '', '--b--'],
    ].join('\n'),
  );
const read = (raw: Buffer) => bouncedId(raw, 'bot@example.test');

test('a report that an answer of ours failed names it; one about another mail, or of a mail that is only late, does not', async () => {
  expect(await read(report('failed'))).toBe(OURS);
  expect(await read(report('delayed'))).toBeUndefined();
  expect(await read(report('failed', '<somebody@else.test>'))).toBeUndefined();
  expect(await read(report('failed', OURS, 'disposition-notification'))).toBeUndefined();
  const failed = `From: x@example.test\nX-Failed-Recipients: ada@example.test\n\nno such user\n\nMessage-ID: ${OURS}\n`;
  expect(await read(Buffer.from(failed))).toBe(OURS);
  expect(
    await read(Buffer.from(`From: x@example.test\nAuto-Submitted: auto-replied\nIn-Reply-To: ${OURS}\n\naway`)),
  ).toBeUndefined();
});

test('what came back is counted once, and for a day', async () => {
  const clock = new FakeClock();
  const bounces = new Bounces(clock);
  expect(bounces.detail).toBeUndefined();
  for (const id of ['<a>', '<a>']) bounces.add(id);
  expect(bounces.detail).toMatch(/^1 answer of/);
  bounces.add('<b>');
  expect(bounces.detail).toMatch(/^2 answers of/);
  await clock.advance(24 * 3_600_000);
  expect(bounces.detail).toBeUndefined();
});
