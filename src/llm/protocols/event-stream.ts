/** Reads server-sent events: bytes -> lines -> JSON (html.spec.whatwg.org/multipage/server-sent-events.html). */
import { setImmediate } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { createLimit } from './wire-guard.ts';

/** Ends a stream of the OpenAI wires: what stands behind it is not read. */
const END_MARK = '[DONE]';

/**
 * Yields the JSON of the events, those of one piece of bytes together: a step for each event would cost more
 * than the event. Events without data are none, and the last one may lack its blank line (F28). `onBytes`
 * hears of each piece, also of comments. Throws behind the events that came before: an `AnsweredError` for an
 * error of the server, a `SyntaxError` for what is not JSON, a `WireFault` past the limits.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array> | null,
  onBytes: () => void,
): AsyncGenerator<readonly unknown[], void> {
  if (!body) return;
  const pieces = body[Symbol.asyncIterator]();
  const limit = createLimit();
  const decoder = new TextDecoder();
  let payloads: unknown[] = [];
  let end: { readonly error?: unknown } | undefined;
  const onEvent = (event: EventSourceMessage): void => {
    if (end || event.data === '') return;
    if (event.data === END_MARK) end = {};
    else
      try {
        payloads.push(payloadOf(event));
      } catch (error) {
        end = { error };
      }
  };
  const parser = createParser({ onEvent });
  let isWhole = false;
  try {
    while (!end) {
      const { done, value: bytes } = await pieces.next();
      isWhole = done === true;
      if (!done) {
        onBytes();
        limit(bytes);
      }
      parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(bytes, { stream: true }));
      if (done) end ??= {};
      if (payloads.length > 0) yield payloads;
      payloads = [];
    }
    if (end.error) throw end.error;
    if (isWhole) return;
    // The end of the body often lies one turn of the loop behind the mark, and a body that is left before its
    // end costs the connection.
    const last = pieces.next().then(({ done }) => {
      isWhole = done === true;
    });
    await Promise.race([last, setImmediate()]).catch(() => undefined);
  } finally {
    if (!isWhole) await pieces.return?.();
  }
}

function payloadOf({ event, data }: EventSourceMessage): unknown {
  const payload: unknown = JSON.parse(data);
  const { error } = asRecord(payload);
  if (error || event === 'error') throw new AnsweredError(undefined, error || payload);
  return payload;
}
