import type { Browser, CDPSession, Dialog, ElementHandle, Locator, Page as View } from 'playwright-core';
import { MAX_NOTE_CHARS, MAX_NOTES, MAX_PNG_BYTES, MAX_TITLE_CHARS, MAX_URL_CHARS } from './limits.ts';
import type { FromDriver, ToDriver } from './messages.ts';
import { within } from './own-world.ts';
import { elementsOf, evaluate, htmlOf, linksOf, pageHtml, pageText, textOf } from './read-view.ts';

const VIEWPORT = { width: 1280, height: 800 };
/** For the first byte of a page, and then for all that it loads. */
const COMMIT_MS = 30_000;
const LOAD_MS = 15_000;
/** For an element to be there and to be reached. */
const ELEMENT_MS = 10_000;
/** After an action, for a page that it may lead to. */
const SETTLE_MS = 5_000;
/** An action that takes longer leaves a page that is given up. */
const ACTION_MS = 50_000;
/** A page that shows more would show them for ever. */
const MAX_DIALOGS = 20;

type Done = Omit<Extract<FromDriver, { readonly kind: 'done' }>, 'kind' | 'id'>;
type Shown = Pick<Done, 'output' | 'png'>;

/** The page cannot be used any more, and nor can the browser: others of it share its processes. */
export class LostPage extends Error {
  constructor(reason: string) {
    super(`${reason}, and the browser was closed; navigate again`);
    this.name = 'LostPage';
  }
}

/** The page is another one than that on which an action was allowed. */
export class MovedPage extends Error {
  readonly url: string;

  constructor(url: string) {
    super(`the page has moved to ${url.slice(0, 500)} since; look at it first`);
    this.name = 'MovedPage';
    this.url = url;
  }
}

/** The one page of a browser. What it opens beside itself is closed. */
export class Page {
  readonly #view: View;
  readonly #cdp: CDPSession;
  readonly #lost = Promise.withResolvers<never>();
  /** Rejects once there is nothing to be done with it any more, also between two actions. */
  readonly lost = this.#lost.promise;
  /** What happened and was not told yet: what comes after an action is told with the next one. */
  #notes: string[] = [];
  /** Of the notes, those of earlier actions. */
  #late = 0;
  #dialogs = 0;

  private constructor(view: View, cdp: CDPSession) {
    this.#view = view;
    this.#cdp = cdp;
    this.#watch();
  }

  static async open(browser: Browser): Promise<Page> {
    const context = await browser.newContext({ acceptDownloads: false, serviceWorkers: 'block', viewport: VIEWPORT });
    context.setDefaultTimeout(ELEMENT_MS);
    const view = await context.newPage();
    context.on('page', (other) => void other.close().catch(() => undefined));
    const cdp = await context.newCDPSession(view);
    // Of windows that a page opens, nothing else tells the address before they are closed.
    await cdp.send('Page.enable');
    return new Page(view, cdp);
  }

  /** Rejects with a sentence for the model, which is a `LostPage` where it was the last one. */
  async perform(request: ToDriver): Promise<Done> {
    this.#late = this.#notes.length;
    const timer = setTimeout(() => this.#lose(`the page did not answer within ${ACTION_MS / 1_000} s`), ACTION_MS);
    const work = this.#work(request);
    work.catch(() => undefined);
    try {
      return await Promise.race([work, this.lost]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #work(request: ToDriver): Promise<Done> {
    const view = this.#view;
    const { output, png } = await this.#act(view, request);
    const url = shownUrl(view);
    const title = (await view.title()).slice(0, MAX_TITLE_CHARS).toWellFormed();
    const notes = this.#notes
      .splice(0)
      .slice(0, MAX_NOTES)
      .map((note) => note.slice(0, MAX_NOTE_CHARS).toWellFormed());
    return { url, title, output, notes, ...(png === undefined ? {} : { png }) };
  }

  async #act(view: View, request: ToDriver): Promise<Shown> {
    const { action, selector, text = '', expression = '' } = request;
    const stay = (): void => stayOn(request.page, view);
    const element = selector === undefined ? undefined : view.locator(selector).first();
    switch (action) {
      case 'navigate':
        return await this.#navigate(view, request.url ?? '');
      case 'get_text':
        return { output: await plain(async () => (element ? textOf(await pinned(element, stay)) : pageText(this.#cdp))) };
      case 'get_html':
        return { output: await plain(async () => (element ? htmlOf(await pinned(element, stay)) : pageHtml(this.#cdp))) };
      case 'find_elements':
        stay();
        return { output: await plain(() => elementsOf(view, selector ?? 'body')) };
      case 'get_links':
        return { output: await linksOf(this.#cdp) };
      case 'screenshot':
        if (element) await plain(() => scrollTo(element, stay));
        return await this.#screenshot();
      case 'evaluate':
        stay();
        return await this.#settled(view, evaluate(this.#cdp, expression));
      case 'click':
        return await this.#settled(
          view,
          plain(() => click(element, stay)),
        );
      case 'type':
        return await this.#settled(
          view,
          plain(() => type(element, text, stay)),
        );
    }
  }

  async #navigate(view: View, url: string): Promise<Shown> {
    const answer = await view.goto(url, { waitUntil: 'commit', timeout: COMMIT_MS }).catch((error: Error) => {
      throw new Error(navigationProblem(error.message, this.#notes.slice(this.#late)));
    });
    const isWhole = await view.waitForLoadState('load', { timeout: LOAD_MS }).then(
      () => true,
      () => false,
    );
    if (!isWhole) this.#note(`The page was still loading after ${LOAD_MS / 1_000} s.`);
    return { output: answer ? `HTTP status ${answer.status()}` : '' };
  }

  async #settled(view: View, work: Promise<string>): Promise<Shown> {
    const output = await work;
    await view.waitForLoadState('load', { timeout: SETTLE_MS }).catch(() => undefined);
    return { output };
  }

  /** Of what is in the window now. Playwright's own would hide the caret by a style that the page sees. */
  async #screenshot(): Promise<Shown> {
    const { data } = await within(LOAD_MS, this.#cdp.send('Page.captureScreenshot', { format: 'png' }));
    if (Buffer.byteLength(data, 'base64') > MAX_PNG_BYTES) throw new Error('the picture of this page is too large');
    return { output: '', png: data };
  }

  #lose(reason: string): void {
    this.#lost.reject(new LostPage(reason));
  }

  #watch(): void {
    const view = this.#view;
    view.on('crash', () => this.#lose('the page crashed'));
    view.on('close', () => this.#lose('the page was closed'));
    this.#cdp.on('Page.windowOpen', ({ url }) =>
      this.#note(`The page opened a window for ${url.slice(0, 300)}, which was closed; navigate there if it is wanted.`),
    );
    view.on('dialog', (dialog) => this.#dismiss(dialog));
    view.on('download', (download) => {
      this.#note(`A download of ${JSON.stringify(download.suggestedFilename().slice(0, 100))} was refused.`);
      download.cancel().catch(() => undefined);
    });
    // Listened to, so that no dialog of the system comes.
    view.on('filechooser', () => this.#note('The page asked for a file, and got none.'));
    view.on('framenavigated', (frame) => {
      if (frame === view.mainFrame()) this.#dialogs = 0;
    });
  }

  #dismiss(dialog: Dialog): void {
    this.#dialogs += 1;
    if (this.#dialogs > MAX_DIALOGS) this.#lose('the page shows one dialog after the other');
    const type = dialog.type();
    if (type !== 'beforeunload')
      this.#note(`The page showed a dialog (${type}): ${JSON.stringify(dialog.message().slice(0, 200))}. It was dismissed.`);
    // A page that does not want to be left is left.
    const answer = type === 'beforeunload' ? dialog.accept() : dialog.dismiss();
    answer.catch(() => undefined);
  }

  #note(sentence: string): void {
    if (this.#notes.length < MAX_NOTES && !this.#notes.includes(sentence)) this.#notes.push(sentence);
  }
}

function isShown(url: string): boolean {
  // What a page may not lead to becomes `about:blank#blocked`.
  return /^https?:/.test(url) || /^about:blank(?:#blocked)?$/.test(url);
}

/** Throws a `LostPage` for what is not shown. */
function shownUrl(view: View): string {
  const url = view.url();
  if (!isShown(url)) throw new LostPage('pages are shown by http: and https: alone');
  return url.slice(0, MAX_URL_CHARS);
}

function stayOn(page: string, view: View): void {
  const url = shownUrl(view);
  if (url !== page) throw new MovedPage(url);
}

/** One element of the page that is meant: unlike a locator it never becomes that of a later page. */
async function pinned(element: Locator, stay: () => void): Promise<ElementHandle> {
  stay();
  const node = await element.elementHandle();
  // The element may have come with another page, for which a locator waits as well.
  stay();
  if (!node) throw new Error('no such element');
  return node;
}

async function scrollTo(element: Locator, stay: () => void): Promise<string> {
  await (await pinned(element, stay)).scrollIntoViewIfNeeded();
  return '';
}

async function click(element: Locator | undefined, stay: () => void): Promise<string> {
  if (element) await (await pinned(element, stay)).click();
  return 'Clicked';
}

/** A line break at the end is the key Enter; of a list, the option of that name is chosen. */
async function type(locator: Locator | undefined, text: string, stay: () => void): Promise<string> {
  if (!locator) return '';
  const element = await pinned(locator, stay);
  const presses = text.endsWith('\n');
  const words = presses ? text.slice(0, -1) : text;
  const tag = await element.evaluate((node) => (node as unknown as { readonly tagName: string }).tagName);
  if (tag === 'SELECT') await element.selectOption(words);
  else await element.fill(words);
  if (presses) await element.press('Enter');
  return 'Typed';
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** Failures of Playwright end in a log of what it tried, of which the end says why. */
async function plain(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MovedPage || error instanceof LostPage) throw error;
    const lines = (error as Error).message.replaceAll(ESCAPES, '').split('\n');
    const [first = '', ...log] = lines.map((line) => line.trim()).filter((line) => line !== '' && line !== 'Call log:');
    const said = first
      .replace(/^[\w.]+: /, '')
      .replace(/^Timeout (\d+)ms exceeded\.?/, 'no such element could be used within $1 ms.');
    throw new Error([said, ...log.slice(-3)].join(' ').slice(0, 800), { cause: error });
  }
}

const MEANINGS: Readonly<Record<string, string>> = {
  ERR_TUNNEL_CONNECTION_FAILED: 'the address could not be reached',
  ERR_TOO_MANY_REDIRECTS: 'the address leads on and on to other addresses',
  ERR_INVALID_AUTH_CREDENTIALS: 'the page wants a password',
  ERR_CERT_AUTHORITY_INVALID: 'the TLS certificate is not signed by a trusted authority',
  ERR_CERT_DATE_INVALID: 'the TLS certificate has expired',
  ERR_CERT_COMMON_NAME_INVALID: 'the TLS certificate is for another host',
};

function navigationProblem(message: string, notes: readonly string[]): string {
  const code = /net::(ERR_\w+)/.exec(message)?.[1];
  if (/Download is starting/.test(message) || (code === 'ERR_ABORTED' && notes.some((note) => note.startsWith('A download'))))
    return 'this is a file to be downloaded, not a page; web_fetch tells more about it';
  if (/Timeout \d+ms exceeded/.test(message)) return `the page did not begin within ${COMMIT_MS / 1_000} s`;
  return MEANINGS[code ?? ''] ?? `the page could not be opened (${code ?? 'it was left again'})`;
}
