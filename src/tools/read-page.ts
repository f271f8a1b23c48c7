// {html, url, mode, maxChars} on stdin -> DOM -> its article, or all -> {title, text, isComplete} on stdout
//
// A program of its own: pages are written by strangers, and what a parser does with one must cost no more
// than this process. It imports nothing of the daemon.
import { text as readAll } from 'node:stream/consumers';
import { Readability } from '@mozilla/readability';
import { cut, markdownOf, parsePage, tidy } from './html-markdown.ts';

/** An article that is shorter than this part of its page is a guess: all of the page is shown. */
const LEAST_SHARE = 0.1;
/** A longer list of nodes is no page for people. */
const MAX_ELEMENTS = 200_000;
const NO_TEXT = 'script, style, noscript, template, svg, iframe, object, head > :not(title)';

/** Of an element of the DOM what is used here; the types of a browser are not those of this project. */
interface Element {
  readonly tagName: string;
  readonly textContent: string | null;
  readonly childNodes: Iterable<object & { readonly textContent: string | null }>;
  hasAttribute(name: string): boolean;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelectorAll(selector: string): Iterable<Element>;
  after(text: string): void;
}

interface Request {
  readonly html: string;
  readonly url: string;
  readonly mode: 'text' | 'markdown';
  readonly maxChars: number;
}

const { html, url, mode, maxChars } = JSON.parse(await readAll(process.stdin)) as Request;
const { title, content } = articleOf(html, url);
const document = parsePage(`<html><body>${content}</body></html>`);
// One more than is shown: whether there is more is told.
const whole = mode === 'markdown' ? markdownOf(document.body, maxChars + 1) : textOf(document.body);
const shown = whole.length > maxChars ? cut(whole, maxChars) : whole;
process.stdout.write(JSON.stringify({ title: title.slice(0, 300), text: shown, isComplete: shown.length === whole.length }));

/** The HTML of what a reader comes for. */
function articleOf(page: string, from: string): { readonly title: string; readonly content: string } {
  const document = parsePage(page);
  const named = document.querySelector('title')?.textContent?.trim() ?? '';
  for (const node of document.querySelectorAll(NO_TEXT)) node.remove();
  for (const link of document.querySelectorAll('a[href], img[src]')) makeAbsolute(link, from);
  const all = document.body?.innerHTML ?? '';
  const length = document.body?.textContent?.length ?? 0;
  const article = new Readability(document, { keepClasses: true, maxElemsToParse: MAX_ELEMENTS }).parse();
  const isGuess = !article?.content || (article.textContent?.length ?? 0) < length * LEAST_SHARE;
  return { title: article?.title?.trim() || named, content: isGuess ? all : (article.content ?? all) };
}

function makeAbsolute(link: Element, from: string): void {
  const name = link.hasAttribute('href') ? 'href' : 'src';
  const target = URL.parse(link.getAttribute(name) ?? '', from);
  // A link that runs a script, or holds a picture itself, leads nowhere.
  if (target && /^(?:https?|mailto):$/.test(target.protocol)) link.setAttribute(name, target.href);
  else link.removeAttribute(name);
}

/** Text in which blocks are lines of their own. */
function textOf(body: Element): string {
  for (const line of body.querySelectorAll('br, p, div, li, tr, pre, blockquote, section, h1, h2, h3, h4, h5, h6'))
    line.after('\n');
  for (const cell of body.querySelectorAll('td, th')) cell.after('\t');
  return tidy(body.textContent ?? '');
}
