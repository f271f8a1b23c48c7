import { expect, test } from 'vitest';
import { HealthSum, inOrder } from './health-sum.ts';

function scene() {
  const said: unknown[] = [];
  const sum = new HealthSum<'journal' | 'connection' | 'history'>(
    (...health) => said.push(health),
    inOrder('journal', 'connection', 'history'),
    ['connection'],
  );
  return { sum, said };
}

test('nothing but faults is told before every part is ready', () => {
  const { sum, said } = scene();
  sum.set('history', 'healthy', 'something is missing');
  sum.set('journal', 'healthy');
  expect(said).toEqual([]);
  sum.set('journal', 'down', 'disk full');
  sum.set('journal', 'healthy');
  sum.set('connection', 'healthy');
  expect(said).toEqual([
    ['down', 'disk full'],
    ['starting', undefined],
    ['healthy', 'something is missing'],
  ]);
});

test('the first part in the order is shown, then the next, each change once', () => {
  const { sum, said } = scene();
  sum.set('connection', 'degraded', 'slow');
  sum.set('journal', 'down', 'disk full');
  sum.set('connection', 'degraded', 'slower');
  sum.set('journal', 'healthy');
  sum.set('journal', 'healthy');
  expect(said).toEqual([
    ['degraded', 'slow'],
    ['down', 'disk full'],
    ['degraded', 'slower'],
  ]);
});

test('of faults with the same rank the oldest is shown, and a part that was not ready is as young as its fault', () => {
  const said: unknown[] = [];
  const sum = new HealthSum<'api' | 'webhook'>(
    (...health) => said.push(health),
    () => 0,
    ['api'],
  );
  sum.set('webhook', 'degraded', 'not served');
  sum.set('api', 'degraded', 'no answer');
  sum.set('webhook', 'healthy');
  expect(said).toEqual([
    ['degraded', 'not served'],
    ['degraded', 'no answer'],
  ]);
});
