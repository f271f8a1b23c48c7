import { expect, it } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { LOGIN_REFUSED } from '../core/outbox.ts';
import { MemoryLogger } from '../testing/fakes.ts';
import { logEvents, Observations } from './observe.ts';

const failed = (kind: string): RunEvent => ({
  type: 'model.failed',
  at: 0,
  model: 'm',
  code: 'GH2109',
  kind,
  detail: 'x',
  ms: 1,
});

it('a call that was stopped on purpose is no error: not a warning in the log, not among the last errors', () => {
  const logger = new MemoryLogger();
  const observations = new Observations((text) => text);
  for (const event of [failed('aborted'), failed('network')]) {
    logEvents(logger)(event);
    observations.observe(event);
  }
  expect(logger.lines.map(({ level }) => level)).toEqual(['info', 'warn']);
  expect(observations.errors).toHaveLength(1);
});

it('the hint of a failed call stands before that of its code', () => {
  const logger = new MemoryLogger();
  logEvents(logger)({ ...failed('bad-request'), hint: 'check that base_url is the address of the API' } as RunEvent);
  expect(logger.lines[0]).toMatchObject({ data: { hint: 'check that base_url is the address of the API' } });
});

it('intake that is held is a warning with the way out, and stands in the status', () => {
  const [logger, observations] = [new MemoryLogger(), new Observations()];
  const reason = 'messages up to limits.total_mb (3 MB) wait';
  const event: RunEvent = { type: 'intake.held', at: 7, channel: 'slack', code: 'GH1509', reason };
  logEvents(logger)(event);
  observations.observe(event);
  expect(logger.lines).toMatchObject([
    { level: 'warn', event: 'intake.held', data: { channel: 'slack', reason, hint: expect.stringContaining('`limits`') } },
  ]);
  expect(observations.errors).toEqual([{ at: 7, code: 'GH1509', detail: `slack: ${reason}` }]);
  expect([observations.held(8), observations.held(700_000)]).toEqual([['slack'], []]);
  observations.observe({ type: 'intake.resumed', at: 9, channel: 'slack' });
  expect(observations.held(10)).toEqual([]);
});

it('times are logged in whole milliseconds', () => {
  const logger = new MemoryLogger();
  logEvents(logger)({ type: 'finished', at: 0, messageId: 'm', outcome: 'answered', ms: 4.742733 } as RunEvent);
  expect(logger.lines[0]).toMatchObject({ event: 'finished', data: { ms: 5 } });
});

it('streamed text is never logged', () => {
  const logger = new MemoryLogger();
  logEvents(logger)({ type: 'model.text', at: 0, text: 'private' });
  expect(logger.lines).toEqual([]);
});

it('keeps the newest five errors, newest first', () => {
  const observations = new Observations((text) => text);
  for (let n = 0; n < 7; n += 1) observations.observe({ type: 'failed', at: n, code: 'GH2003', detail: 'x' });
  expect(observations.errors.map(({ at }) => at)).toEqual([6, 5, 4, 3, 2]);
});

it('what stands in the log for debugging only is not even made while that is off', () => {
  const logger = Object.assign(new MemoryLogger(), { isDebugEnabled: () => false });
  const event = Object.defineProperty({ type: 'queued', at: 0 }, 'lane', {
    enumerable: true,
    get: () => expect.unreachable('the line was made'),
  });
  logEvents(logger)(event as unknown as RunEvent);
  expect(logger.lines).toEqual([]);
  // Of the same kind, and worth a warning whatever is off.
  logEvents(logger)({ type: 'part.retry', at: 0, reason: `${LOGIN_REFUSED}: 401` } as RunEvent);
  expect(logger.lines.map(({ level }) => level)).toEqual(['warn']);
});

it('5,000 strangers within a minute are a line for the first of each channel and reason, and one that counts the others', () => {
  const logger = Object.assign(new MemoryLogger(), { isDebugEnabled: () => false });
  const log = logEvents(logger);
  for (let n = 0; n < 5_000; n += 1) {
    const channel = n % 2 === 0 ? 'telegram' : 'sms';
    log({ type: 'dropped', at: n * 10, reason: 'not-allowed', channel, messageId: `${channel}/bot/${n}` });
  }
  expect(logger.lines.map(({ event, data }) => [event, data?.['channel'], data?.['messageId']])).toEqual([
    ['dropped', 'telegram', 'telegram/bot/0'],
    ['dropped', 'sms', 'sms/bot/1'],
  ]);
  log({ type: 'received', at: 60_020, channel: 'telegram' });
  expect(logger.lines.slice(2)).toMatchObject([
    { level: 'info', event: 'dropped.more', data: { channel: 'telegram', reason: 'not-allowed', count: 2_499 } },
    { level: 'info', event: 'dropped.more', data: { channel: 'sms', reason: 'not-allowed', count: 2_499 } },
  ]);
  log({ type: 'dropped', at: 60_030, reason: 'not-allowed', channel: 'sms', messageId: 'sms/bot/next' });
  expect(logger.lines.at(-1)).toMatchObject({ event: 'dropped', data: { messageId: 'sms/bot/next' } });
});

it('with debugging on each dropped message has its line', () => {
  const logger = new MemoryLogger();
  const log = logEvents(logger);
  for (let n = 0; n < 3; n += 1) log({ type: 'dropped', at: n, reason: 'not-allowed', messageId: `m/${n}` });
  expect(logger.lines.map(({ level }) => level)).toEqual(['info', 'debug', 'debug']);
});
