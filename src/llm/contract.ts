import { expect, test } from 'vitest';
import type { Model, ModelEvent, ModelRequest } from '../core/model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';

/** A request as the agent makes it; override what the test is about. */
export function modelRequest(text: string, override: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [
      { id: 's', role: 'system', content: 'You are terse.', timestamp: '2026-01-01T00:00:00Z' },
      { id: 'u', role: 'user', content: text, timestamp: '2026-01-01T00:00:00Z' },
    ],
    tools: [],
    context: { session: '_main:test:chat-1', channel: 'test', sender: 'test:1', purpose: 'turn' },
    ...override,
  };
}

export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** What a consumer that follows `restart` has on its screen at the end. */
export function streamedText(events: readonly ModelEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'restart') text = '';
    if (event.type === 'text') text += event.text;
  }
  return text;
}

export interface ModelSubject extends AsyncDisposable {
  readonly model: Model;
  /** Answered with some text. */
  readonly answered: ModelRequest;
  /** Takes long enough to be aborted after its first text. */
  readonly slow: ModelRequest;
}

/** What every `Model` promises, whatever is behind it. */
export function modelContract(name: string, create: () => Promise<ModelSubject>): void {
  test(`${name}: a call ends with exactly one done, and the streamed text is the answer's text`, async () => {
    await using subject = await create();
    const events = await collect(subject.model.call(subject.answered, new AbortController().signal));
    expect(events.filter((event) => event.type === 'done' || event.type === 'failed')).toHaveLength(1);
    const last = events.at(-1);
    expect(last?.type).toBe('done');
    if (last?.type === 'done') expect(streamedText(events)).toBe(last.answer.text);
  });

  test(`${name}: a call whose signal aborted before ends at once with failed(aborted)`, async () => {
    await using subject = await create();
    const events = await collect(subject.model.call(subject.answered, AbortSignal.abort(new Error('stop'))));
    expect(events).toEqual([{ type: 'failed', failure: expect.objectContaining({ kind: 'aborted', retryable: false }) }]);
  });

  test(`${name}: an abort in the middle of an answer ends the call promptly with failed(aborted)`, async () => {
    await using subject = await create();
    const stop = new AbortController();
    const events: ModelEvent[] = [];
    const over = new AbortController();
    let isLate = false;
    for await (const event of subject.model.call(subject.slow, stop.signal)) {
      events.push(event);
      if (event.type === 'text' && !stop.signal.aborted) {
        stop.abort(new Error('stop'));
        new SteadyClock().sleep(1_000, over.signal).then(
          () => {
            isLate = true;
          },
          () => undefined, // the call ended in time
        );
      }
    }
    over.abort();
    expect(isLate).toBe(false);
    expect(events.at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'aborted' } });
  });

  test(`${name}: a consumer may leave early`, async () => {
    await using subject = await create();
    let hasLeft = false;
    for await (const event of subject.model.call(subject.slow, new AbortController().signal)) {
      hasLeft = event.type === 'text';
      if (hasLeft) break;
    }
    expect(hasLeft).toBe(true);
  });
}
