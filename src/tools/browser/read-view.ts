/**
 * What a page says. Functions that are handed to it run there, and see nothing of this file.
 *
 * The whole page is read in a world of our own, which its scripts do not notice. What a selector names is
 * found and read among their objects, so they can see the selector and each property that is read: a look at
 * an element is a message to the page, and is judged as one (act `look`).
 */
import type { CDPSession, ElementHandle, Page } from 'playwright-core';
import { MAX_ELEMENTS, MAX_LINKS, MAX_TEXT_CHARS } from './limits.ts';
import { inOwnWorld } from './own-world.ts';

const EVALUATE_MS = 10_000;

/** Of what a page is asked for, as far as it is used here. */
interface Element {
  readonly tagName: string;
  readonly innerText?: string;
  readonly outerHTML: string;
  readonly textContent: string | null;
  readonly href?: unknown;
  getAttribute(name: string): string | null;
  checkVisibility?(): boolean;
}

/** Of a page: there is no DOM here to name its types by. */
interface Looked {
  readonly document: {
    readonly body: Element | null;
    readonly documentElement: Element | null;
    querySelectorAll(selector: string): Iterable<unknown>;
  };
}

export async function pageText(cdp: CDPSession): Promise<string> {
  const text = await inOwnWorld(
    cdp,
    (max) => {
      const { document } = globalThis as unknown as Looked;
      const root = document.body ?? document.documentElement;
      return (root?.innerText ?? root?.textContent ?? '').slice(0, max);
    },
    MAX_TEXT_CHARS + 1,
  );
  return cut(text.trim());
}

export async function pageHtml(cdp: CDPSession): Promise<string> {
  const html = await inOwnWorld(
    cdp,
    (max) => ((globalThis as unknown as Looked).document.documentElement?.outerHTML ?? '').slice(0, max),
    MAX_TEXT_CHARS + 1,
  );
  return cut(html);
}

export async function textOf(place: ElementHandle): Promise<string> {
  const text = await place.evaluate((node, max) => {
    const { innerText, textContent } = node as unknown as Element;
    return (innerText ?? textContent ?? '').slice(0, max);
  }, MAX_TEXT_CHARS + 1);
  return cut(text.trim());
}

export async function htmlOf(place: ElementHandle): Promise<string> {
  return cut(await place.evaluate((node, max) => (node as unknown as Element).outerHTML.slice(0, max), MAX_TEXT_CHARS + 1));
}

/** One line each, with the selector that means this one alone. */
export async function elementsOf(view: Page, selector: string): Promise<string> {
  const found = await view.locator(selector).evaluateAll((nodes, most) => {
    const names = ['id', 'name', 'type', 'role', 'aria-label', 'placeholder', 'value', 'href', 'src', 'alt', 'title'];
    const lines = (nodes as unknown as Element[]).slice(0, most).map((node) => {
      const facts = names.flatMap((name) => {
        const value = node.getAttribute(name);
        return value === null ? [] : [` ${name}=${JSON.stringify(value.slice(0, 120))}`];
      });
      const hidden = node.checkVisibility?.() === false ? ' (hidden)' : '';
      const words = (node.innerText ?? node.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 120);
      return `<${node.tagName.toLowerCase()}${facts.join('')}>${hidden} ${words}`.trim();
    });
    return { count: nodes.length, lines };
  }, MAX_ELEMENTS);
  if (found.count === 0) return 'No element fits';
  const lines = found.lines.map((line, at) => `${at}: ${line}`);
  const more = found.count > MAX_ELEMENTS ? [`[${MAX_ELEMENTS} of ${found.count} elements; narrow the selector]`] : [];
  return cut([...lines, ...more, `[select one by its number N: ${selector} >> nth=N]`].join('\n'));
}

export async function linksOf(cdp: CDPSession): Promise<string> {
  const look = (most: number) => {
    const seen = new Set<string>();
    const { document } = globalThis as unknown as Looked;
    for (const node of document.querySelectorAll('a[href], area[href]') as Iterable<Element>) {
      const words = (node.innerText ?? node.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 120);
      // Of SVG, it is an object.
      if (typeof node.href === 'string') seen.add(`${node.href.slice(0, 1_000)} ${words}`.trim());
    }
    return { count: seen.size, lines: [...seen].slice(0, most) };
  };
  const found = await inOwnWorld(cdp, look, MAX_LINKS);
  if (found.count === 0) return 'The page has no links';
  const more = found.count > MAX_LINKS ? [`[${MAX_LINKS} of ${found.count} links]`] : [];
  return cut([...found.lines, ...more].join('\n'));
}

/**
 * The value of an expression as JSON. The browser ends code that computes too long, so that the page can be
 * used on; what is awaited too long is left alone.
 */
export async function evaluate(cdp: CDPSession, expression: string): Promise<string> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it took longer than ${EVALUATE_MS / 1_000} s`)), EVALUATE_MS + 500);
  try {
    return await Promise.race([jsonOf(cdp, expression), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function jsonOf(cdp: CDPSession, expression: string): Promise<string> {
  // In a list, so that a long text is not sent as a whole.
  const wrapped = `[await (\n${expression}\n)]`;
  const made = await cdp
    .send('Runtime.evaluate', { expression: wrapped, replMode: true, awaitPromise: true, timeout: EVALUATE_MS })
    .catch(() => {
      throw new Error(`it was ended: it took longer than ${EVALUATE_MS / 1_000} s, or the page was left meanwhile`);
    });
  const { objectId } = made.result;
  if (made.exceptionDetails || objectId === undefined) throw new Error(problemOf(made.exceptionDetails));
  const said = await cdp.send('Runtime.callFunctionOn', {
    ...{ objectId, returnByValue: true, arguments: [{ value: MAX_TEXT_CHARS + 1 }] },
    functionDeclaration: 'function (max) { return String(JSON.stringify(this[0])).slice(0, max); }',
  });
  await cdp.send('Runtime.releaseObject', { objectId }).catch(() => undefined);
  if (said.exceptionDetails) throw new Error(`the value cannot be written as JSON: ${problemOf(said.exceptionDetails)}`);
  return cut(String(said.result.value));
}

function problemOf(
  details: { readonly text: string; readonly exception?: { readonly description?: string } } | undefined,
): string {
  const said = details?.exception?.description ?? details?.text ?? 'it has no value';
  const hint = said.startsWith('SyntaxError') ? ' (one expression is wanted; put statements into (() => { … })())' : '';
  return `${said.split('\n', 1)[0]?.slice(0, 500)}${hint}`;
}

/** Never between the halves of a character. */
function cut(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text.toWellFormed();
  return `${text.slice(0, MAX_TEXT_CHARS).toWellFormed()}\n[cut at ${MAX_TEXT_CHARS} characters]`;
}
