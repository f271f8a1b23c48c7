/** Server-sent events: bytes -> lines -> JSON (html.spec.whatwg.org/multipage/server-sent-events.html). */
import { setImmediate } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { parseKeepingNumbers } from '../../lib/long-numbers.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { createLimit } from './wire-guard.ts';

/** Ends a stream of the OpenAI wires: what stands behind it is not read. */
const END_MARK = '[DONE]';
/** A longer text between events is not looked at. Characters. */
const MOST_STRAY = 64_000;

/**
 * Yields the JSON of the events, those of one piece of bytes together: a step for each event would cost more
 * than the event. Pings and events without data are skipped; the last event may lack its blank line (F28).
 * `onBytes` is called for each piece, also where it holds nothing but comments. Throws behind the events that
 * came before: an `AnsweredError` for an error of the server, a `SyntaxError` for what is not JSON, a
 * `WireFault` past the limits.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array> | null,
  onBytes: () => void,
): AsyncGenerator<readonly unknown[], void> {
  if (!body) return;
  const pieces = body[Symbol.asyncIterator]();
  const limit = createLimit();
  const decoder = new TextDecoder();
  const stray = createStrayReader();
  let payloads: unknown[] = [];
  let end: { readonly error?: unknown } | undefined;
  const onEvent = (event: EventSourceMessage): void => {
    if (end || event.data === '' || event.event === 'ping') return;
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
      const text = done ? `${decoder.decode()}\n\n` : decoder.decode(bytes, { stream: true });
      stray.push(text);
      parser.feed(text);
      if (done) end ??= {};
      if (payloads.length > 0) yield payloads;
      payloads = [];
    }
    const error = end.error ?? stray.error();
    if (error) throw error;
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
  const payload = event === 'error' ? jsonOrText(data) : parseKeepingNumbers(data);
  const { error } = asRecord(payload);
  if (error || event === 'error') throw new AnsweredError(undefined, error || payload);
  return payload;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Finds an error object that stands between the events or in place of them, where the event parser skips it:
 * Google's servers write it bare (`throwIfStreamErrorChunk` of @google/genai), llama.cpp till 2025 in a field
 * of the name `error` (github.com/ggml-org/llama.cpp/pull/16109).
 */
function createStrayReader() {
  let found = '';
  let isLineStart = true;
  return {
    push(text: string): void {
      if (text === '') return;
      const begin = isLineStart ? /(?:^|\n)(?:error: ?)?\{/ : /\n(?:error: ?)?\{/;
      const at = found === '' ? text.search(begin) : 0;
      if (at >= 0) found += text.slice(at);
      isLineStart = text.endsWith('\n');
      if (found.length > MOST_STRAY) found = '';
    },
    /** Undefined where nothing was found, or no error. */
    error(): AnsweredError | undefined {
      if (found === '') return undefined;
      const field = /^\n?error:(.*)/.exec(found)?.[1];
      const said = asRecord(jsonOrText(field ?? found));
      const error = field === undefined ? said['error'] : said['message'] && said;
      return error ? new AnsweredError(undefined, error) : undefined;
    },
  };
}
