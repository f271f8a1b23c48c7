/** A browser for the pages of a session, that runs where a hostile page harms nothing. */

export const BROWSER_ACTIONS = [
  'navigate',
  'get_text',
  'get_html',
  'click',
  'type',
  'screenshot',
  'evaluate',
  'find_elements',
  'get_links',
] as const;
export type BrowserAction = (typeof BROWSER_ACTIONS)[number];

export interface BrowserRequest {
  readonly action: BrowserAction;
  /** Of `navigate`. */
  readonly url?: string | undefined;
  /**
   * As Playwright writes them: CSS, `text=…`, `… >> nth=1`. Of an action that may go without, the whole
   * page.
   */
  readonly selector?: string | undefined;
  /** Of `type`; a line break at the end presses Enter. */
  readonly text?: string | undefined;
  /** Of `evaluate`: one expression of JavaScript, also with `await`. */
  readonly expression?: string | undefined;
}

/** What a page says is written by strangers. The reason is a sentence for the model. */
export type BrowserOutcome =
  | {
      readonly kind: 'done';
      /** Where the page is now. */
      readonly url: string;
      readonly title: string;
      readonly output: string;
      /** What else happened, one sentence each: dialogs, windows, downloads, addresses that were refused. */
      readonly notes: readonly string[];
      /** Of `screenshot`, at most 5 MiB. */
      readonly png?: Uint8Array;
    }
  | { readonly kind: 'failed'; readonly reason: string };

/** The browser of one session, started by the first `navigate` and closed once nothing uses it. */
export interface BrowserPort {
  /** The address of the page that is shown. Undefined = no browser is open. */
  readonly page: string | undefined;
  /**
   * Whether something was typed or evaluated in the browser that is open, which may have logged in: from then
   * on what it shows may be private. A new browser has no login.
   */
  readonly isPrivate: boolean;
  /**
   * Actions of a session come one after the other. Rejects with the reason of the signal, and the browser is
   * closed then: what an action that was broken off has done is not known.
   */
  perform(request: BrowserRequest, signal: AbortSignal): Promise<BrowserOutcome>;
  /** Settles once its processes are gone. Whether there was one. */
  close(): Promise<boolean>;
}
