// url -> egress -> by its type: HTML read apart, text as it is -> the text of a page
import type { Egress, EgressAnswer } from '../core/egress.ts';
import type { ReadPage } from '../core/page.ts';
import type { ToolContext } from '../core/tool.ts';
import { oneLine } from '../lib/one-line.ts';
import { ToolFailure } from './define.ts';
import { decodeBody, kindOf, mediaType } from './web-content.ts';

/** Spec G1. */
const MAX_BODY_BYTES = 5 * 1024 ** 2;
const MAX_TITLE_CHARS = 300;
const ACCEPT = 'text/html,application/xhtml+xml;q=0.9,text/*;q=0.8,application/json;q=0.8,*/*;q=0.1';

export interface PageWanted {
  readonly url: string;
  readonly mode: 'text' | 'markdown';
  /** Of its text. */
  readonly maxChars: number;
  /** For all of it. */
  readonly timeoutMs: number;
}

export interface PagePort {
  readonly egress: Egress;
  readonly readPage: ReadPage;
}

export interface FetchedPage {
  /** Where it came from, after redirects. */
  readonly url: string;
  readonly type: string;
  /** One line; empty = it has none. */
  readonly title: string;
  readonly text: string;
  /** What of it is missing, in words. */
  readonly notes: readonly string[];
}

type Call = Pick<ToolContext, 'callId' | 'signal' | 'clock'>;

/**
 * Reads one page under the rules of `web_fetch`, whichever tool asks for it. Throws `ToolFailure` with the
 * reason why there is no text; rejects with the reason of the signal.
 */
export async function fetchPage(wanted: PageWanted, call: Call, { egress, readPage }: PagePort): Promise<FetchedPage> {
  const { maxChars, timeoutMs } = wanted;
  const startedAt = call.clock.now();
  const limits = { maxBytes: MAX_BODY_BYTES, timeoutMs };
  const answer = await egress({ tool: 'web_fetch', url: wanted.url, headers: { accept: ACCEPT }, ...limits }, call.signal);
  if (answer.kind === 'refused') throw new ToolFailure(`this address is not fetched: ${answer.reason}`);
  if (answer.kind !== 'answer') throw new ToolFailure(`it could not be fetched: ${answer.reason}`);
  const { url, status, bytes, isComplete } = answer;
  if (status < 200 || status > 299) throw new ToolFailure(`${url} answered with HTTP status ${status}`);
  const kind = kindOf(answer);
  const type = mediaType(answer) ?? 'unknown type';
  if (kind === 'other') {
    const size = isComplete ? `${bytes.length} bytes` : `more than ${MAX_BODY_BYTES} bytes`;
    throw new ToolFailure(`${url} is a file of type ${type} with ${size}, no text`);
  }
  // A clock that was set back must not make the time longer.
  const leftMs = Math.min(timeoutMs, Math.max(1, timeoutMs - (call.clock.now() - startedAt)));
  const read =
    kind === 'html' ? await readHtml(answer, { ...wanted, leftMs }, call, readPage) : plain(decodeBody(answer), maxChars);
  const notes = [
    ...(read.isComplete ? [] : [`only the first ${read.text.length} characters are shown`]),
    ...(isComplete ? [] : [`only the first ${MAX_BODY_BYTES} bytes were read`]),
  ];
  return { url, type, title: oneLine(read.title, MAX_TITLE_CHARS), text: read.text, notes };
}

interface Read {
  readonly title: string;
  readonly text: string;
  readonly isComplete: boolean;
}

async function readHtml(
  answer: EgressAnswer,
  { mode, maxChars, leftMs: timeoutMs }: PageWanted & { readonly leftMs: number },
  { callId, signal }: Call,
  readPage: ReadPage,
): Promise<Read> {
  const page = await readPage({ html: decodeBody(answer), url: answer.url, mode, maxChars, callId, timeoutMs }, signal);
  if (page.kind === 'failed') throw new ToolFailure(page.reason);
  return page;
}

function plain(text: string, maxChars: number): Read {
  if (text.length <= maxChars) return { title: '', text, isComplete: true };
  const half = text.charCodeAt(maxChars - 1);
  return { title: '', text: text.slice(0, half >= 0xd800 && half <= 0xdbff ? maxChars - 1 : maxChars), isComplete: false };
}
